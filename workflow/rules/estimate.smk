# Needs: the observations of one model.
# Makes: results/<study>/estimates/{judge}/{model}/{group}.parquet, accuracy per domain by every estimator that the
#        config asks for, trained on the benchmarks of {group} (names sorted and joined with "+", shortened where that is
#        too long for a file).
#
# A job estimates `estimation.groups_per_job` groups, because its start takes longer than one group. With several groups
# per job, each part of the groups has a rule, `estimate_0` and so on.

for rule_name, batch in ESTIMATE_BATCHES.items():

    rule:
        name:
            rule_name
        input:
            observations=OBSERVATIONS,
        output:
            expand(ESTIMATES, group=batch, allow_missing=True),
        log:
            f"{LOGS}/estimates/{{judge}}/{{model}}/{batch[0] if len(batch) == 1 else rule_name}.log",
        benchmark:
            f"{LOGS}/estimates/{{judge}}/{{model}}/{batch[0] if len(batch) == 1 else rule_name}.tsv"
        # Many of these form one cluster job: group-components in profiles/slurm has the number.
        group:
            "estimate_{model}"
        conda:
            "../../envs/cpu.yaml"
        resources:
            mem_mb=2000,
            runtime=120,
        params:
            **calls("study.stages.estimate_stage.write_groups"),
            # The group's id and settings, for each file.
            groups=lambda wildcards, batch=batch: [
                (GROUP_FILES[file], group_estimates.estimation_settings(CONFIG, ESTIMATORS_OF[file]))
                for file in [name.format(**wildcards) for name in batch]
            ],
        script:
            "../scripts/job.py"
