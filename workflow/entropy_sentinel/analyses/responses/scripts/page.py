from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.responses.page import write_page

    write_page(snakemake.input, snakemake.params.benchmarks, snakemake.params.settings, snakemake.output[0])
