from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.accuracy.measuring.domains import write_domains

    write_domains(
        snakemake.input.observations, snakemake.params.models, snakemake.output.auroc, snakemake.output.domains
    )
