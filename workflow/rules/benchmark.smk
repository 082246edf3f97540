# Needs: the source that the config names for a benchmark, on the hub or as a local file.
# Makes: results/<study>/benchmarks/{benchmark}.parquet, one row per item.
#
# No hash of the code here, a version instead (BENCHMARK_VERSION in frames/benchmark.py): see generation.smk.


rule benchmark:
    input:
        file=lambda wildcards: CONFIG.benchmarks[wildcards.benchmark].path or [],
    output:
        ITEMS,
    log:
        f"{LOGS}/benchmarks/{{benchmark}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=lambda wildcards: of_content(
            study.benchmark_settings(CONFIG, wildcards.benchmark),
            CONFIG.benchmarks[wildcards.benchmark].path,
            ITEMS.format(**wildcards),
        ),
    script:
        "../scripts/benchmark.py"
