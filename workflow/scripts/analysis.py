from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from importlib import import_module

    analysis = import_module(f"entropy_sentinel.analyses.{snakemake.params.analysis}")
    analysis.make(snakemake.input, snakemake.output[0], **snakemake.params.settings)
