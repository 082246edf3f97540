from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.cost import write_costs

    write_costs(snakemake.input.labels, snakemake.params.ledger, snakemake.output[0])
