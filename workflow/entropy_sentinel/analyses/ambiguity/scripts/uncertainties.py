from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.ambiguity.uncertainties import write_uncertainties

    write_uncertainties(
        snakemake.input, snakemake.params.settings, snakemake.output.uncertainties, snakemake.output.estimates
    )
