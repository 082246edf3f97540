# Needs: items of a benchmark; the model's weights, on the hub or in a folder; a GPU, or a CPU build of vLLM.
# Makes: results/<study>/generations/{model}/{benchmark}.parquet, responses with their log-probability traces.
#
# No hash of the code here: traces cost GPU time, and a refactoring must not spend it. The settings hold a version that
# is raised by hand when results move (GENERATION_VERSION in contracts/generations.py).


rule generate:
    input:
        benchmark=ITEMS,
    output:
        GENERATIONS,
    log:
        f"{LOGS}/generations/{{model}}/{{benchmark}}.log",
    conda:
        "../../envs/generate.yaml"
    threads: CONFIG.generation.threads
    resources:
        gpu=1,
        mem_mb=4000,
        runtime=240,
    params:
        settings=lambda wildcards: study.generation_settings(CONFIG, wildcards.model, wildcards.benchmark),
    script:
        "../scripts/generate.py"
