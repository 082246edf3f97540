from entropy_sentinel.jobs.logs import job_log
from entropy_sentinel.stages.benchmark import write_benchmark

with job_log(snakemake.log[0]):
    write_benchmark(snakemake.params.settings, snakemake.output[0])
