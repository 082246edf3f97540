from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.selection.making import write_selections

    write_selections(
        snakemake.input,
        snakemake.wildcards.model,
        snakemake.params.settings,
        dict(zip(snakemake.params.strategies, snakemake.output, strict=False)),
        snakemake.output.candidates,
        snakemake.output.selections,
    )
