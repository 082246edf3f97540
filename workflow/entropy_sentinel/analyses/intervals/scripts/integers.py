from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.intervals.stated import write_integers

    write_integers(snakemake.input, snakemake.params.temperature, snakemake.params.farthest, snakemake.output[0])
