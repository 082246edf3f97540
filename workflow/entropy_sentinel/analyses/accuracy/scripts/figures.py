import os

from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.accuracy.figures.drawing import write_figures

    folder = os.path.dirname(snakemake.output[0])
    write_figures(snakemake.input, snakemake.params.settings, snakemake.params.titles, folder)
