from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.estimate import write_estimates

    write_estimates(
        snakemake.input.observations,
        snakemake.params.group,
        snakemake.params.settings,
        snakemake.output[0],
    )
