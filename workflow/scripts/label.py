from entropy_sentinel.jobs.logs import job_log
from entropy_sentinel.stages.label import write_labels

with job_log(snakemake.log[0]):
    write_labels(
        benchmark=snakemake.input.benchmark,
        generations=snakemake.input.generations,
        settings=snakemake.params.settings,
        output=snakemake.output[0],
        source=snakemake.input.labels or None,
    )
