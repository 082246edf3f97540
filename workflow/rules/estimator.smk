# Needs: the observations of one model.
# Makes: results/<study>/estimators/{judge}/{model}/{name}/*.estimator, the estimators of a named group that the config
#        keeps, for other data; results/<study>/scores/{judge}/{model}/{name}.parquet, P(correct) by response.
#
# One job has `estimation.groups_per_job` groups, as in estimate.smk.

for rule_name, batch in ESTIMATOR_BATCHES.items():

    rule:
        name:
            rule_name
        input:
            observations=OBSERVATIONS,
        output:
            estimators=[
                ESTIMATOR.format(judge="{judge}", model="{model}", name=name, estimator=estimator)
                for name in batch
                for estimator in CONFIG.estimation.keep
            ],
            scores=expand(SCORES, name=batch, allow_missing=True),
        log:
            f"{LOGS}/estimators/{{judge}}/{{model}}/{batch[0] if len(batch) == 1 else rule_name}.log",
        benchmark:
            f"{LOGS}/estimators/{{judge}}/{{model}}/{batch[0] if len(batch) == 1 else rule_name}.tsv"
        conda:
            "../../envs/cpu.yaml"
        resources:
            mem_mb=2000,
            runtime=60,
        params:
            **calls("study.stages.estimate_stage.write_kept"),
            # The group's id and settings, for each name.
            groups=lambda wildcards, batch=batch: [
                (CONFIG.groups[name].group_id, group_estimates.estimation_settings(CONFIG, KEPT[name]))
                for name in [name.format(**wildcards) for name in batch]
            ],
        script:
            "../scripts/job.py"
