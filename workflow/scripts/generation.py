from entropy_sentinel.jobs.logs import job_log
from entropy_sentinel.stages.generation import write_generations

with job_log(snakemake.log[0]):
    write_generations(snakemake.input.benchmark, snakemake.params.settings, snakemake.threads, snakemake.output[0])
