import os

from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.ambiguity.figures import write_figures

    write_figures(
        snakemake.input,
        snakemake.params.settings,
        snakemake.params.exhibits,
        os.path.dirname(snakemake.output[0]),
    )
