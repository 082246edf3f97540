# Needs: items of a benchmark; the model's weights, on the hub or in a folder; a GPU, or a CPU build of vLLM. Or, for a
#        model behind an API, its server; for imported traces, their file.
# Makes: results/<study>/generations/{model}/{benchmark}.parquet, responses with their log-probability traces.
#
# There is no hash of the code: traces cost GPU time, and a refactoring must not spend it. The settings have a version
# that is raised by hand when results change (GENERATION_VERSION in schemas/generation_schema.py).


use rule cpu_job as generation with:
    input:
        lambda wildcards: generation_requests.find_source_file(CONFIG, wildcards.model, wildcards.benchmark) or [],
        benchmark=ITEMS,
    output:
        GENERATIONS,
    log:
        f"{LOGS}/generations/{{model}}/{{benchmark}}.log",
    benchmark:
        f"{LOGS}/generations/{{model}}/{{benchmark}}.tsv"
    priority: engine_priority(lambda model: model)
    group:
        "generation_{model}"
    conda:
        GENERATE_ENV
    threads: CONFIG.generation.threads
    resources:
        **engine_resources(lambda model: model),
        gpu=lambda wildcards: generation_requests.count_gpus(CONFIG, wildcards.model),
        mem_mb=4000,
        runtime=240,
    params:
        call=named("study.stages.generation_stage.write_generations"),
        settings=lambda wildcards: of_content(
            generation_requests.generation_settings(CONFIG, wildcards.model, wildcards.benchmark),
            generation_requests.find_source_file(CONFIG, wildcards.model, wildcards.benchmark),
            GENERATIONS.format(**wildcards),
        ),
