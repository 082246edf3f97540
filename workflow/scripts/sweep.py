from entropy_sentinel.contracts.logs import job_log
from entropy_sentinel.stages.sweep import write_sweep

with job_log(snakemake.log[0]):
    write_sweep(snakemake.input.estimates, snakemake.params.models, snakemake.params.groups, snakemake.output[0])
