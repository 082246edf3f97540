from entropy_sentinel.contracts.logs import job_log
from entropy_sentinel.stages.sweep import write_domain_statistics

with job_log(snakemake.log[0]):
    write_domain_statistics(
        snakemake.input.observations,
        snakemake.params.models,
        auroc_output=snakemake.output.auroc,
        domains_output=snakemake.output.domains,
    )
