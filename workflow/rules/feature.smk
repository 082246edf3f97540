# Needs: a model's traces on a benchmark.
# Makes: results/<study>/features/{model}/{benchmark}.parquet, 17 statistics per response.


use rule cpu_job as feature with:
    input:
        generations=GENERATIONS,
    output:
        FEATURES,
    log:
        f"{LOGS}/features/{{model}}/{{benchmark}}.log",
    benchmark:
        f"{LOGS}/features/{{model}}/{{benchmark}}.tsv"
    params:
        **calls("study.stages.feature.write_features"),
        settings=lambda wildcards: generations.feature_settings(CONFIG, wildcards.model),
