from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.stages.feature import write_features

    write_features(snakemake.input.generations, snakemake.params.settings, snakemake.output[0])
