from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.signals import write_signals

    settings = snakemake.params.get("settings", {})
    write_signals(snakemake.params.family, snakemake.input.generations, snakemake.output[0], **settings)
