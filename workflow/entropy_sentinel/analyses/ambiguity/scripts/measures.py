from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.ambiguity.measures import write_measures

    write_measures(
        snakemake.input,
        snakemake.params.models,
        snakemake.params.settings,
        snakemake.output.concordances,
        snakemake.output.aurocs,
        snakemake.output.p_stars,
    )
