from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from entropy_sentinel.analyses.rejection.assessments import write_assessments

    write_assessments(
        snakemake.input.observations, snakemake.input.benchmarks, snakemake.params.groups, snakemake.output[0]
    )
