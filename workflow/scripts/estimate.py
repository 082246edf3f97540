from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.estimate import write_estimates

    for (group, settings), output in zip(snakemake.params.groups, snakemake.output, strict=True):
        write_estimates(snakemake.input.observations, group, settings, output)
