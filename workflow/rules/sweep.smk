# Needs: the estimates of all models and training groups; the observations of all models.
# Makes: results/<study>/{judge}/sweep.parquet, AEE and rho of every estimator;
#        results/<study>/{judge}/auroc.parquet and domains.parquet, what separates correct from incorrect, and counts.


rule sweep:
    input:
        estimates=expand(ESTIMATES, model=MODELS, group=GROUPS, allow_missing=True),
    output:
        SWEEP,
    log:
        f"{LOGS}/{{judge}}/sweep.log",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *fingerprint("sweep.py"),
        models=[model for model in MODELS for _ in GROUPS],
        groups=[group for _ in MODELS for group in GROUPS],
    script:
        "../scripts/sweep.py"


rule domain_statistics:
    input:
        observations=expand(OBSERVATIONS, model=MODELS, allow_missing=True),
    output:
        auroc=AUROC,
        domains=DOMAINS,
    log:
        f"{LOGS}/{{judge}}/domain_statistics.log",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *fingerprint("domain_statistics.py"),
        models=MODELS,
    script:
        "../scripts/domain_statistics.py"
