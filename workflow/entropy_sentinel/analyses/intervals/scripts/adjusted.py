from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.intervals.adjusted import write_adjusted

    write_adjusted(snakemake.input, snakemake.params.settings, snakemake.output[0])
