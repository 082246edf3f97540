from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.intervals.sets import write_sets

    write_sets(snakemake.input, snakemake.output[0])
