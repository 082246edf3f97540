from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.agreement.pairs import write_pairs

    write_pairs(snakemake.params.files, snakemake.params.judges, snakemake.output[0])
