from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.intervals.scores import write_scores

    write_scores(snakemake.input[0], snakemake.params.settings, snakemake.output.scores, snakemake.output.differences)
