from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.accuracy.measuring.repeats import write_repeats

    write_repeats(snakemake.input.observations, **snakemake.params.repeats, output=snakemake.output[0])
