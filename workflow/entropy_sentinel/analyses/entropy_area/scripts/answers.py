from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.entropy_area.answers import write_answers

    write_answers(snakemake.input.benchmark, snakemake.input.labels, snakemake.params.settings, snakemake.output[0])
