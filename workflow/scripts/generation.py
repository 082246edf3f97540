from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.generation import write_generations

    write_generations(snakemake.input.benchmark, snakemake.params.settings, snakemake.threads, snakemake.output[0])
