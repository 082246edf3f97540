from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.benchmark import write_benchmark

    write_benchmark(snakemake.params.settings, snakemake.output[0])
