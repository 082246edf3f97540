# Needs: the source that the config names for a benchmark, on the hub or as a local file.
# Makes: results/<study>/benchmarks/{benchmark}.parquet, one row per item.
#
# No hash of the code here, a version instead (BENCHMARK_VERSION in contracts/benchmarks.py): see generate.smk.


def benchmark_file(wildcards):
    path = CONFIG.benchmarks[wildcards.benchmark].path
    return [path] if path else []


rule benchmark:
    input:
        file=benchmark_file,
    output:
        ITEMS,
    log:
        f"{LOGS}/benchmarks/{{benchmark}}.log",
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=lambda wildcards: study.benchmark_settings(CONFIG, wildcards.benchmark),
    script:
        "../scripts/benchmark.py"
