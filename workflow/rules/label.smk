# Needs: items of a benchmark and a model's responses to them; for imported labels, their files.
# Makes: results/<study>/labels/{judge}/{model}/{benchmark}.parquet, a verdict per response.
#
# A judge with a `served` model starts a vLLM server for its labels: one job for all benchmarks of a model, because the
# start takes longer than the labels of one benchmark. Replies are cached, so a second run requests only new labels.
#
# A benchmark with its own judge (`benchmarks.NAME.judge`) has that judge's labels at the place of {judge}.
#
# Like generations, labels may cost money: the VERSION of a judge's kind (judges/judge_kinds.py) stands for the code.

SERVED, OWN_JUDGES = label_requests.list_served_judges(CONFIG), label_requests.find_benchmark_judges(CONFIG)
SERVED_BENCHMARKS = [name for name in BENCHMARKS if name not in OWN_JUDGES] or BENCHMARKS


# Both rules could make the labels of a served judge; without its own judge, a benchmark belongs to the server's job.
ruleorder: label_served > label


use rule cpu_job as label with:
    input:
        benchmark=ITEMS,
        generations=GENERATIONS,
        sources=lambda wildcards: label_requests.list_labels_files(
            CONFIG, wildcards.judge, wildcards.model, wildcards.benchmark
        ),
    output:
        LABELS,
    log:
        f"{LOGS}/labels/{{judge}}/{{model}}/{{benchmark}}.log",
    benchmark:
        f"{LOGS}/labels/{{judge}}/{{model}}/{{benchmark}}.tsv"
    wildcard_constraints:
        judge="|".join(re.escape(judge) for judge in JUDGES if judge not in SERVED or OWN_JUDGES) or "none",
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        call=named("study.stages.label_stage.write_labels"),
        settings=lambda wildcards: of_content(
            label_requests.judge_settings(CONFIG, wildcards.judge, wildcards.benchmark),
            label_requests.list_labels_files(CONFIG, wildcards.judge, wildcards.model, wildcards.benchmark),
            LABELS.format(**wildcards),
        ),


use rule cpu_job as label_served with:
    input:
        benchmarks=expand(ITEMS, benchmark=SERVED_BENCHMARKS),
        generations=expand(GENERATIONS, benchmark=SERVED_BENCHMARKS, allow_missing=True),
    output:
        expand(LABELS, benchmark=SERVED_BENCHMARKS, allow_missing=True),
    log:
        f"{LOGS}/labels/{{judge}}/{{model}}.log",
    benchmark:
        f"{LOGS}/labels/{{judge}}/{{model}}.tsv"
    wildcard_constraints:
        judge="|".join(map(re.escape, SERVED)) or "none",
    conda:
        GENERATE_ENV
    threads: CONFIG.generation.threads
    resources:
        gpu=lambda wildcards: generation_requests.count_gpus(CONFIG, CONFIG.judges[wildcards.judge].served_by),
        mem_mb=4000,
        runtime=240,
    params:
        call=named("study.stages.label_stage.write_served_labels"),
        settings=lambda wildcards: label_requests.judge_settings(CONFIG, wildcards.judge),
