from entropy_sentinel.contracts.logs import job_log
from entropy_sentinel.stages.label import write_labels

with job_log(snakemake.log[0]):
    write_labels(snakemake.input.benchmark, snakemake.input.generations, snakemake.params.settings, snakemake.output[0])
