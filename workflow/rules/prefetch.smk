# Needs: internet; the ids of models and data sets in the config. `snakemake prefetch` runs on the submitting host.
# Makes: the weights and data sets in the cache of the Hugging Face hub (HF_HOME), for jobs with HF_HUB_OFFLINE=1, and
#        results/<study>/prefetch/{models,comparing,datasets}/{name}.json with the commit of each; `comparing` are the
#        weights by which a family of signals compares texts.
#
# There is no hash of the code: files in the cache at their commit do not change.


COMPARING = generation_requests.select_comparing_families(CONFIG)


localrules:
    prefetch,
    prefetch_model,
    prefetch_comparing,
    prefetch_dataset,


rule prefetch:
    input:
        [f"{RESULTS}/prefetch/models/{name}.json" for name in label_requests.list_hub_models(CONFIG)],
        [f"{RESULTS}/prefetch/comparing/{name}.json" for name, one in COMPARING.items() if one.weights],
        [f"{RESULTS}/prefetch/datasets/{name}.json" for name in BENCHMARKS if CONFIG.benchmarks[name].dataset],


use rule cpu_job as prefetch_model with:
    output:
        f"{RESULTS}/prefetch/models/{{model}}.json",
    log:
        f"{LOGS}/prefetch/models/{{model}}.log",
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        call=named("study.stages.prefetch_stage.prefetch_model"),
        settings=lambda wildcards: dict(
            **CONFIG.models[wildcards.model].model_dump(include={"id", "revision"}),
            load_format=(CONFIG.generation.engine_args | CONFIG.models[wildcards.model].engine_args).get(
                "load_format"
            ),
        ),


use rule cpu_job as prefetch_comparing with:
    output:
        f"{RESULTS}/prefetch/comparing/{{family}}.json",
    log:
        f"{LOGS}/prefetch/comparing/{{family}}.log",
    resources:
        mem_mb=4000,
        runtime=600,
    params:
        call=named("study.stages.prefetch_stage.prefetch_model"),
        settings=lambda wildcards: {
            "id": COMPARING[wildcards.family].weights,
            "revision": COMPARING[wildcards.family].revision,
            "load_format": None,
        },


use rule cpu_job as prefetch_dataset with:
    output:
        f"{RESULTS}/prefetch/datasets/{{benchmark}}.json",
    log:
        f"{LOGS}/prefetch/datasets/{{benchmark}}.log",
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        call=named("study.stages.prefetch_stage.prefetch_dataset"),
        settings=lambda wildcards: CONFIG.benchmarks[wildcards.benchmark].model_dump(
            include={"dataset", "configs", "split", "revision"}
        ),
