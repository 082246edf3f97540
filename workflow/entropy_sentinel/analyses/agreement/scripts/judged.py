from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.agreement.judged import write_judged

    write_judged(snakemake.params.files, snakemake.params.groups, snakemake.output.judged, snakemake.output.errors)
