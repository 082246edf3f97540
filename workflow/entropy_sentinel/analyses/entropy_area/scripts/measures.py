from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.entropy_area.measures import write_measures

    write_measures(
        snakemake.input.by_item,
        snakemake.input.by_response,
        snakemake.params.models,
        snakemake.params.settings,
        snakemake.output.correlations,
        snakemake.output.spread,
    )
