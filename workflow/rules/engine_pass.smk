# Needs: items of a benchmark, a model's traces on it with token ids, its weights or its server; a GPU, or a CPU build of
#        vLLM. Or, for imported traces, the file of an imported pass.
# Makes: results/<study>/passes/{family}/{model}/{benchmark}.parquet, the model's answers when it is asked again about
#        its responses, for each family of run.features that needs them.
#
# Like generations it costs GPU time: the version in the family's declaration stands for the code.

for family in PASSES_OF:

    rule:
        name:
            f"pass_{family}"
        input:
            lambda wildcards, family=family: generation_requests.find_imported_pass(
                CONFIG, family, wildcards.model, wildcards.benchmark
            )
            or [],
            benchmark=ITEMS,
            generations=GENERATIONS,
        output:
            expand(PASSES, family=family, allow_missing=True),
        log:
            f"{LOGS}/passes/{family}/{{model}}/{{benchmark}}.log",
        benchmark:
            f"{LOGS}/passes/{family}/{{model}}/{{benchmark}}.tsv"
        priority: engine_priority(lambda model, family=family: CONFIG.find_requery_model(family, model))
        group:
            "generation_{model}"
        conda:
            "../../envs/generate.yaml"
        threads: CONFIG.generation.threads
        resources:
            **engine_resources(lambda model, family=family: CONFIG.find_requery_model(family, model)),
            gpu=lambda wildcards, family=family: generation_requests.count_pass_gpus(CONFIG, family, wildcards.model),
            mem_mb=4000,
            runtime=240,
        params:
            call=named("study.stages.engine_pass.write_engine_pass"),
            settings=lambda wildcards, family=family: of_content(
                generation_requests.pass_settings(CONFIG, family, wildcards.model, wildcards.benchmark),
                generation_requests.find_imported_pass(CONFIG, family, wildcards.model, wildcards.benchmark),
                PASSES.format(family=family, **wildcards),
            ),
        script:
            "../scripts/job.py"
