from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.accuracy.measuring.sweep import write_sweep

    write_sweep(snakemake.input.estimates, snakemake.params.models, snakemake.params.groups, snakemake.output[0])
