# Needs: of all models the labels and features of benchmarks with references, and the pass `forced_answer`; items.
# Makes: results/<study>/{judge}/entropy_area/: answers/{model}/{benchmark}.parquet, which samples give the same answer;
#        responses/{model}.parquet and items/{model}.parquet, their measures and entropies; truncation/{model}.parquet;
#        correlations.parquet, spread.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


rule entropy_area_answers:
    input:
        benchmark=ITEMS,
        labels=LABELS,
    output:
        AREA_CLASSES,
    log:
        f"{LOGS}/{{judge}}/entropy_area_answers/{{model}}/{{benchmark}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        *analysis_code("entropy_area/answers"),
        settings=lambda wildcards: study.judge_settings(CONFIG, wildcards.judge, wildcards.benchmark),
    script:
        "scripts/answers.py"


rule entropy_area_items:
    input:
        answers=expand(AREA_CLASSES, benchmark=AREA_BENCHMARKS, allow_missing=True),
        features=expand(FEATURES, benchmark=AREA_BENCHMARKS, allow_missing=True),
        passes=AREA_PASSES,
    output:
        by_response=AREA_RESPONSES,
        by_item=AREA_ITEMS,
    log:
        f"{LOGS}/{{judge}}/entropy_area_items/{{model}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("entropy_area/items"),
    script:
        "scripts/items.py"


rule entropy_area_truncation:
    input:
        AREA_PASSES,
    output:
        AREA_TRUNCATION,
    log:
        f"{LOGS}/{{judge}}/entropy_area_truncation/{{model}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        mem_mb=16000,
        runtime=60,
    params:
        *analysis_code("entropy_area/truncation"),
        sets=AREA_SETS,
    script:
        "scripts/truncation.py"


rule entropy_area_measures:
    input:
        by_item=expand(AREA_ITEMS, model=MODELS, allow_missing=True),
        by_response=expand(AREA_RESPONSES, model=MODELS, allow_missing=True),
    output:
        correlations=AREA_CORRELATIONS,
        spread=AREA_SPREAD,
    log:
        f"{LOGS}/{{judge}}/entropy_area_measures.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("entropy_area/measures"),
        models=MODELS,
        settings={
            "sets": AREA_SETS,
            "answers": AREA_ANSWERS,
            "resamples": AREA.resamples,
            "seed": study.estimation_seed(CONFIG),
        },
    script:
        "scripts/measures.py"


rule entropy_area_tables:
    input:
        by_item=expand(AREA_ITEMS, model=MODELS, allow_missing=True),
        truncation=expand(AREA_TRUNCATION, model=MODELS, allow_missing=True),
        correlations=AREA_CORRELATIONS,
        spread=AREA_SPREAD,
    output:
        expand("{table}.{kind}", table=AREA_TABLES, kind=TABLE_KINDS),
        AREA_PUBLISHED,
    log:
        f"{LOGS}/{{judge}}/entropy_area_tables.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("entropy_area/tables", "report/exhibits.html.j2"),
        titles={name: AREA.TABLES[name] for name in AREA.tables},
        settings=AREA_SHOWN,
        models=MODELS,
    script:
        "scripts/tables.py"


rule entropy_area_figures:
    input:
        by_item=expand(AREA_ITEMS, model=MODELS, allow_missing=True),
        correlations=AREA_CORRELATIONS,
        passes=expand(AREA_PASSES, model=MODELS),
    output:
        expand("{figure}.{kind}", figure=AREA_FIGURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/{{judge}}/entropy_area_figures.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("entropy_area/figures", "report/exhibits.html.j2"),
        exhibits=AREA_EXHIBITS,
        settings={**AREA_SHOWN, "figure_benchmark": AREA.figure_benchmark},
        models=MODELS,
    script:
        "scripts/figures.py"


rule entropy_area_report:
    input:
        correlations=AREA_CORRELATIONS,
        tables=expand("{table}.html", table=AREA_TABLES),
        figures=expand("{figure}.html", figure=AREA_FIGURES),
    output:
        page=f"{AREA_FOLDER}/report.html",
        summary=f"{AREA_FOLDER}/summary.txt",
    log:
        f"{LOGS}/{{judge}}/entropy_area_report.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code(
            "entropy_area/report",
            "report/exhibits.html.j2",
            "report/page.html.j2",
            "analyses/entropy_area/report.html.j2",
        ),
        settings=AREA_SHOWN,
    script:
        "scripts/report.py"


TARGETS += expand(f"{AREA_FOLDER}/report.html", judge=AREA.judges)
