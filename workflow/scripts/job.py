from entropy_sentinel.study.jobs.job_logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.study.jobs.job_calls import call_function

    call_function(snakemake)
