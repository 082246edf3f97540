# Needs: items, labels, features and further signals of all benchmarks, of one model.
# Makes: results/<study>/observations/{judge}/{model}.parquet, features, signals, labels and split, joined.


rule observation:
    input:
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
        labels=expand(LABELS, benchmark=BENCHMARKS, allow_missing=True),
        features=expand(FEATURES, benchmark=BENCHMARKS, allow_missing=True),
        signals=expand(SIGNALS, family=SIGNAL_FAMILIES, benchmark=BENCHMARKS, allow_missing=True),
    output:
        OBSERVATIONS,
    log:
        f"{LOGS}/observations/{{judge}}/{{model}}.log",
    conda:
        "../../envs/cpu.yaml"
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        *fingerprint("observation.py"),
        *DECLARED,
        split=study.split_settings(CONFIG),
    script:
        "../scripts/observation.py"
