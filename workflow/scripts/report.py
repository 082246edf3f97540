from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.accuracy.publish import publish

    files = {
        name: snakemake.input[name] for name in ("sweep", "auroc", "domains", "headline", "generations", "benchmarks")
    }
    publish(
        files | {"observations": snakemake.input.observations},
        snakemake.params.settings,
        snakemake.params.tables,
        snakemake.params.figures,
        snakemake.params.folder,
    )
