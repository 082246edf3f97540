# Needs: the observations of one model.
# Makes: results/<study>/estimators/{judge}/{model}/{name}/*.estimator, the estimators of a named group that the config
#        keeps, for other data; results/<study>/scores/{judge}/{model}/{name}.parquet, P(correct) by response.


rule estimator:
    input:
        observations=OBSERVATIONS,
    output:
        estimators=expand(ESTIMATOR, estimator=CONFIG.estimation.keep, allow_missing=True),
        scores=SCORES,
    log:
        f"{LOGS}/estimators/{{judge}}/{{model}}/{{name}}.log",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        *fingerprint("estimator.py", *modules(name for group in KEPT.values() for name in group)),
        group=lambda wildcards: CONFIG.groups[wildcards.name].group_id,
        settings=lambda wildcards: study.estimation_settings(CONFIG, KEPT[wildcards.name]),
    script:
        "../scripts/estimator.py"
