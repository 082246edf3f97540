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
        **calls("study.stages.feature_stage.write_features"),
        settings=lambda wildcards: generation_requests.feature_settings(CONFIG, wildcards.model),
