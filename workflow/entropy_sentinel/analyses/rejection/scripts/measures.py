from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.rejection.measures import write_measures

    write_measures(
        snakemake.input.observations,
        snakemake.input.scores,
        snakemake.input.questions,
        snakemake.params.settings,
        snakemake.output[0],
    )
