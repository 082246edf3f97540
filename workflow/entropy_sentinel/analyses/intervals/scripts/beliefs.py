from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.intervals.beliefs import write_beliefs

    write_beliefs(snakemake.input, snakemake.params.models, snakemake.params.farthest, snakemake.output[0])
