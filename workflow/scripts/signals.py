from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.signals import write_signals

    files, settings = dict(snakemake.input.items()), snakemake.params.get("settings")
    write_signals(snakemake.params.family, output=snakemake.output[0], settings=settings, **files)
