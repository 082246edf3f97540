from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.accuracy.measuring.validation import write_validation

    write_validation(snakemake.input.observations, snakemake.params.settings, snakemake.output[0])
