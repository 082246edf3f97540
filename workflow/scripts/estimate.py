from entropy_sentinel.jobs.logs import job_log
from entropy_sentinel.stages.estimate import write_estimates

with job_log(snakemake.log[0]):
    write_estimates(
        snakemake.input.observations,
        snakemake.params.group,
        snakemake.params.settings,
        snakemake.output[0],
    )
