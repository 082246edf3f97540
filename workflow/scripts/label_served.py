from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.label import write_served_labels

    write_served_labels(
        benchmarks=snakemake.input.benchmarks,
        generations=snakemake.input.generations,
        settings=snakemake.params.settings,
        threads=snakemake.threads,
        outputs=snakemake.output,
    )
