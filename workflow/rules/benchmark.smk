# Needs: the source that the config names for a benchmark, on the hub or as a local file.
# Makes: results/<study>/benchmarks/{benchmark}.parquet, one row per item.
#
# No hash of the code here, a version instead (BENCHMARK_VERSION in frames/benchmark.py): see generation.smk.
#
# A local file that changed, and gives the same items, is as old as ever (jobs/content.py).


use rule cpu_job as benchmark with:
    input:
        file=lambda wildcards: rows_file(wildcards.benchmark),
    output:
        ITEMS,
    log:
        f"{LOGS}/benchmarks/{{benchmark}}.log",
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        call=named("stages.benchmark.write_benchmark"),
        settings=lambda wildcards: items_settings(wildcards.benchmark)[0],
