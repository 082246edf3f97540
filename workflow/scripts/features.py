from entropy_sentinel.contracts.logs import job_log
from entropy_sentinel.stages.features import write_features

with job_log(snakemake.log[0]):
    write_features(snakemake.input.generations, snakemake.output[0])
