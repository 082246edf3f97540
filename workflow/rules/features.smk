# Needs: a model's traces on a benchmark; for observations also the labels and the items.
# Makes: results/<study>/features/{model}/{benchmark}.parquet, 17 statistics per response;
#        results/<study>/observations/{judge}/{model}.parquet, features, labels and split of all benchmarks.


rule feature:
    input:
        generations=GENERATIONS,
    output:
        FEATURES,
    log:
        f"{LOGS}/features/{{model}}/{{benchmark}}.log",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        *fingerprint("features.py"),
    script:
        "../scripts/features.py"


rule observations:
    input:
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
        labels=expand(LABELS, benchmark=BENCHMARKS, allow_missing=True),
        features=expand(FEATURES, benchmark=BENCHMARKS, allow_missing=True),
    output:
        OBSERVATIONS,
    log:
        f"{LOGS}/observations/{{judge}}/{{model}}.log",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        *fingerprint("observations.py"),
        benchmarks=BENCHMARKS,
        split=dict(test_share=CONFIG.estimation.test_share, seed=CONFIG.seed),
    script:
        "../scripts/observations.py"
