from entropy_sentinel.study.jobs.job_logs import job_log

with job_log(snakemake.log[0]):
    from entropy_sentinel.monitor.monitor_run import collect

    estimator = snakemake.input.estimator or None
    problems = collect(estimator, snakemake.input.log, snakemake.output[0], **snakemake.params.options)
    print(*problems.lines(), sep="\n")
