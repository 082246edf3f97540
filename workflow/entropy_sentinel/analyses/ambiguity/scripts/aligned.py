from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.ambiguity.aligned import write_aligned

    write_aligned(
        snakemake.input.benchmark,
        snakemake.input.semantics[0],
        snakemake.params.sources,
        snakemake.params.source,
        snakemake.params.settings,
        snakemake.output[0],
    )
