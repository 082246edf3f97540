# Needs: a model's traces on a benchmark.
# Makes: results/<study>/features/{model}/{benchmark}.parquet, 17 statistics per response.


rule feature:
    input:
        generations=GENERATIONS,
    output:
        FEATURES,
    log:
        f"{LOGS}/features/{{model}}/{{benchmark}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *fingerprint("feature.py"),
        settings=lambda wildcards: study.feature_settings(CONFIG, wildcards.model),
    script:
        "../scripts/feature.py"
