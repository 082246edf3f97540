from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.entropy_area.truncation import write_truncation

    write_truncation(snakemake.input, snakemake.params.sets, snakemake.output[0])
