# Needs: the observations of one model.
# Makes: results/<study>/estimates/{judge}/{model}/{group}.parquet, accuracy per domain by every estimator that the
#        config asks for, trained on the benchmarks of {group} (names sorted and joined with "+", shortened where that is
#        too long for a file).


rule estimate:
    input:
        observations=OBSERVATIONS,
    output:
        ESTIMATES,
    log:
        f"{LOGS}/estimates/{{judge}}/{{model}}/{{group}}.log",
    # Many of these make one job on a cluster: group-components in profiles/slurm says how many.
    group:
        "estimate_{model}"
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=120,
    params:
        *fingerprint("estimate.py", *modules(name for names in GROUPS.values() for name in names)),
        group=lambda wildcards: GROUP_FILES[wildcards.group],
        settings=lambda wildcards: study.estimation_settings(CONFIG, GROUPS[GROUP_FILES[wildcards.group]]),
    script:
        "../scripts/estimate.py"
