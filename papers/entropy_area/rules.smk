# Needs: of all models the labels and features of benchmarks with references, and the pass `forced_answer`; items.
# Makes: results/<study>/{judge}/entropy_area/: answers/{model}/{benchmark}.parquet, which samples give the same answer;
#        responses/{model}.parquet and items/{model}.parquet, their measures and entropies; truncation/{model}.parquet;
#        correlations.parquet, spread.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


use rule cpu_job as entropy_area_answers with:
    input:
        benchmark=ITEMS,
        labels=LABELS,
    output:
        AREA_CLASSES,
    log:
        f"{LOGS}/{{judge}}/entropy_area_answers/{{model}}/{{benchmark}}.log",
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        **calls("papers.entropy_area.classes.answer_classes.write_answer_classes"),
        settings=lambda wildcards: label_requests.judge_settings(CONFIG, wildcards.judge, wildcards.benchmark),


use rule cpu_job as entropy_area_items with:
    input:
        answers=expand(AREA_CLASSES, benchmark=AREA_BENCHMARKS, allow_missing=True),
        features=expand(FEATURES, benchmark=AREA_BENCHMARKS, allow_missing=True),
        passes=AREA_PASSES,
    output:
        by_response=AREA_RESPONSES,
        by_item=AREA_ITEMS,
    log:
        f"{LOGS}/{{judge}}/entropy_area_items/{{model}}.log",
    params:
        **calls("papers.entropy_area.item_variety.write_items"),


use rule cpu_job as entropy_area_truncation with:
    input:
        passes=AREA_PASSES,
    output:
        AREA_TRUNCATION,
    log:
        f"{LOGS}/{{judge}}/entropy_area_truncation/{{model}}.log",
    resources:
        mem_mb=16000,
        runtime=60,
    params:
        **calls("papers.entropy_area.item_variety.write_truncation"),
        sets=AREA_SETS,


use rule cpu_job as entropy_area_measures with:
    input:
        by_item=expand(AREA_ITEMS, model=MODELS, allow_missing=True),
        by_response=expand(AREA_RESPONSES, model=MODELS, allow_missing=True),
    output:
        correlations=AREA_CORRELATIONS,
        spread=AREA_SPREAD,
    log:
        f"{LOGS}/{{judge}}/entropy_area_measures.log",
    params:
        **calls("papers.entropy_area.area_measures.write_measures"),
        models=in_any_order(MODELS),
        settings={
            "sets": AREA_SETS,
            "answers": AREA_ANSWERS,
            "resamples": AREA.resamples,
            "seed": group_estimates.find_estimation_seed(CONFIG),
        },


use rule cpu_job as entropy_area_tables with:
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
    params:
        **calls("papers.entropy_area.area_tables.write_tables", exhibits=entropy_area_catalogue.TABLES),
        tables=AREA.tables,
        settings=AREA_SHOWN,
        models=in_any_order(MODELS),


use rule cpu_job as entropy_area_figures with:
    input:
        by_item=expand(AREA_ITEMS, model=MODELS, allow_missing=True),
        correlations=AREA_CORRELATIONS,
        passes=expand(AREA_PASSES, model=MODELS),
    output:
        expand("{figure}.{kind}", figure=AREA_FIGURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/{{judge}}/entropy_area_figures.log",
    params:
        **calls("papers.entropy_area.area_figures.write_figures", exhibits=entropy_area_catalogue.FIGURES),
        exhibits=AREA_EXHIBITS,
        settings={**AREA_SHOWN, "figure_benchmark": AREA.figure_benchmark},
        models=in_any_order(MODELS),


use rule cpu_job as entropy_area_report with:
    input:
        correlations=AREA_CORRELATIONS,
        tables=expand("{table}.html", table=AREA_TABLES),
        figures=expand("{figure}.html", figure=AREA_FIGURES),
    output:
        page=f"{AREA_FOLDER}/report.html",
        summary=f"{AREA_FOLDER}/summary.txt",
    log:
        f"{LOGS}/{{judge}}/entropy_area_report.log",
    params:
        **calls("papers.entropy_area.area_report.write_report"),
        settings=AREA_SHOWN,


TARGETS += exhibits_of("entropy_area", judge=AREA.judges)
