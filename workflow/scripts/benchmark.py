from entropy_sentinel.contracts.logs import job_log
from entropy_sentinel.stages.benchmarks import write_benchmark

with job_log(snakemake.log[0]):
    write_benchmark(snakemake.params.settings, snakemake.output[0])
