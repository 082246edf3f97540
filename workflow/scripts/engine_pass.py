from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.engine_pass import write_engine_pass

    files, settings = snakemake.input, snakemake.params.settings
    write_engine_pass(files.benchmark, files.generations, settings, snakemake.threads, snakemake.output[0])
