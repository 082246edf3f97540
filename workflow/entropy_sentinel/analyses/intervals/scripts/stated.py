from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.intervals.stated import write_stated

    write_stated(snakemake.input, snakemake.params.level, snakemake.params.farthest, snakemake.output[0])
