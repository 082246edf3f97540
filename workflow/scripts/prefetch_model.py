from entropy_sentinel.jobs.logs import job_log
from entropy_sentinel.stages.prefetch import prefetch_model

with job_log(snakemake.log[0]):
    prefetch_model(snakemake.params.settings, snakemake.output[0])
