from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.accuracy.sweep import write_domain_statistics

    write_domain_statistics(
        snakemake.input.observations,
        snakemake.params.models,
        auroc_output=snakemake.output.auroc,
        domains_output=snakemake.output.domains,
    )
