# Needs: items of a benchmark and a model's responses to them; for labels made elsewhere, their files.
# Makes: results/<study>/labels/{judge}/{model}/{benchmark}.parquet, a verdict per response.
#
# Like generations, labels may cost money: LABEL_VERSION in frames/label.py, or the VERSION of a judge's kind in
# judges/settings.py, stands in for the code.


rule label:
    input:
        benchmark=ITEMS,
        generations=GENERATIONS,
        labels=lambda wildcards: study.labels_files(CONFIG, wildcards.judge, wildcards.model, wildcards.benchmark),
    output:
        LABELS,
    log:
        f"{LOGS}/labels/{{judge}}/{{model}}/{{benchmark}}.log",
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
