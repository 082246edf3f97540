import os

from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.ambiguity.tables import write_tables

    write_tables(
        snakemake.input,
        snakemake.params.settings,
        snakemake.params.titles,
        os.path.dirname(snakemake.output[0]),
    )
