from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.ambiguity.report import write_report

    write_report(snakemake.input, snakemake.params.settings, snakemake.output.page, snakemake.output.summary)
