# Needs: items of a benchmark and a model's responses to them; for labels made elsewhere, their files.
# Makes: results/<study>/labels/{judge}/{model}/{benchmark}.parquet, a verdict per response.
#
# A judge that names a model with weights (`served`) starts a vLLM server for its labels: one job for all benchmarks of
# a model, for the start takes longer than the labels of one. What it was told is kept in the cache, so the job made
# again asks for what is new only.
#
# Like generations, labels may cost money: LABEL_VERSION in frames/label.py, or the VERSION of a judge's kind in
# judges/settings.py, stands in for the code.

SERVED = study.served_judges(CONFIG)


rule label:
    input:
        benchmark=ITEMS,
        generations=GENERATIONS,
        labels=lambda wildcards: study.labels_files(CONFIG, wildcards.judge, wildcards.model, wildcards.benchmark),
    output:
        LABELS,
    log:
        f"{LOGS}/labels/{{judge}}/{{model}}/{{benchmark}}.log",
    wildcard_constraints:
        judge="|".join(re.escape(judge) for judge in JUDGES if judge not in SERVED) or "none",
    conda:
        "../../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        settings=lambda wildcards: of_content(
            study.judge_settings(CONFIG, wildcards.judge, wildcards.benchmark),
            study.labels_files(CONFIG, wildcards.judge, wildcards.model, wildcards.benchmark),
            LABELS.format(**wildcards),
        ),
    script:
        "../scripts/label.py"


rule label_served:
    input:
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
        generations=expand(GENERATIONS, benchmark=BENCHMARKS, allow_missing=True),
    output:
        expand(LABELS, benchmark=BENCHMARKS, allow_missing=True),
    log:
        f"{LOGS}/labels/{{judge}}/{{model}}.log",
    wildcard_constraints:
        judge="|".join(map(re.escape, SERVED)) or "none",
    conda:
        "../../envs/generate.yaml"
    threads: CONFIG.generation.threads
    resources:
        gpu=lambda wildcards: study.gpus(CONFIG, CONFIG.judges[wildcards.judge].served),
        mem_mb=4000,
        runtime=240,
    params:
        settings=lambda wildcards: study.judge_settings(CONFIG, wildcards.judge),
    script:
        "../scripts/label_served.py"
