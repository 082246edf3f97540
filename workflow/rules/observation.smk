# Needs: items, labels, features and further signals of all benchmarks, of one model.
# Makes: results/<study>/observations/{judge}/{model}.parquet, features, signals, labels and split, joined.


use rule cpu_job as observation with:
    input:
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
        labels=expand(LABELS, benchmark=BENCHMARKS, allow_missing=True),
        features=expand(FEATURES, benchmark=BENCHMARKS, allow_missing=True),
        signals=expand(SIGNALS, family=SIGNAL_FAMILIES, benchmark=BENCHMARKS, allow_missing=True),
    output:
        OBSERVATIONS,
    log:
        f"{LOGS}/observations/{{judge}}/{{model}}.log",
    benchmark:
        f"{LOGS}/observations/{{judge}}/{{model}}.tsv"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        **calls("study.stages.observation_stage.write_observations"),
        declared=DECLARED,
        split=group_estimates.split_settings(CONFIG),
