from entropy_sentinel.jobs.logs import job_log
from entropy_sentinel.stages.feature import write_features

with job_log(snakemake.log[0]):
    write_features(snakemake.input.generations, snakemake.output[0])
