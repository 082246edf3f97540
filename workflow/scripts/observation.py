from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.observation import write_observations

    write_observations(
        benchmarks=snakemake.input.benchmarks,
        labels=snakemake.input.labels,
        features=snakemake.input.features,
        split=snakemake.params.split,
        output=snakemake.output[0],
        signals=snakemake.input.signals,
    )
