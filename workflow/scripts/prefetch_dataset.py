from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0]):
    from entropy_sentinel.stages.prefetch import prefetch_dataset

    prefetch_dataset(snakemake.params.settings, snakemake.output[0])
