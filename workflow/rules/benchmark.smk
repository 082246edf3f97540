# Needs: the source that the config names for a benchmark, on the hub or as a local file.
# Makes: results/<study>/benchmarks/{benchmark}.parquet, one row per item.
#
# A version replaces a hash of the code (BENCHMARK_VERSION in schemas/benchmark_schema.py): see generation.smk.
#
# A changed local file that gives the same items reruns nothing (study/jobs/file_content.py).


use rule cpu_job as benchmark with:
    input:
        lambda wildcards: rows_file(wildcards.benchmark),
    output:
        ITEMS,
    log:
        f"{LOGS}/benchmarks/{{benchmark}}.log",
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        call=named("study.stages.benchmark_stage.write_benchmark"),
        settings=lambda wildcards: items_settings(wildcards.benchmark)[0],
