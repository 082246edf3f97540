from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.estimator import write_estimators

    write_estimators(
        snakemake.input.observations,
        snakemake.params.group,
        snakemake.params.settings,
        snakemake.output.estimators,
        snakemake.output.scores,
    )
