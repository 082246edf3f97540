from entropy_sentinel.jobs.logs import job_log

with job_log(snakemake.log[0], snakemake.input):
    from itertools import islice

    from entropy_sentinel.stages.estimator import write_estimators

    files = iter(snakemake.output.estimators)
    for (group, settings), scores in zip(snakemake.params.groups, snakemake.output.scores, strict=True):
        estimators = list(islice(files, len(settings["estimators"])))
        write_estimators(snakemake.input.observations, group, settings, estimators, scores)
