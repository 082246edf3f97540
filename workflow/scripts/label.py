from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.label import write_labels

    write_labels(
        benchmark=snakemake.input.benchmark,
        generations=snakemake.input.generations,
        settings=snakemake.params.settings,
        output=snakemake.output[0],
        sources=snakemake.input.labels,
    )
