# Needs: of all models the observations and the scores of named groups, P(correct) of every response; items.
# Makes: results/<study>/{judge}/rejection/: questions/{model}.parquet, P(correct) by the question alone;
#        measures/{model}.parquet, what is read off the accuracy-rejection curves; tables/, figures/, report.html,
#        summary.txt.


include: "names.smk"


use rule cpu_job as rejection_assessments with:
    input:
        observations=OBSERVATIONS,
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
    output:
        REJECTION_QUESTIONS,
    log:
        f"{LOGS}/{{judge}}/rejection_assessments/{{model}}.log",
    params:
        **calls("papers.rejection.question_assessor.write_assessments"),
        groups=list(REJECTION_ASSESSORS),


use rule cpu_job as rejection_measures with:
    input:
        observations=OBSERVATIONS,
        scores=expand(SCORES, name=REJECTION.groups, allow_missing=True),
        questions=REJECTION_QUESTIONS,
    output:
        REJECTION_MEASURES,
    log:
        f"{LOGS}/{{judge}}/rejection_measures/{{model}}.log",
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        **calls("papers.rejection.rejection_measures.write_measures"),
        settings={
            "assessors": REJECTION_ASSESSORS,
            "accuracies": REJECTION.accuracies,
            "resamples": REJECTION.resamples,
            "seed": group_estimates.find_estimation_seed(CONFIG),
        },


use rule cpu_job as rejection_tables with:
    input:
        measures=expand(REJECTION_MEASURES, model=MODELS, allow_missing=True),
    output:
        expand("{table}.{kind}", table=REJECTION_TABLES, kind=TABLE_KINDS),
    log:
        f"{LOGS}/{{judge}}/rejection_tables.log",
    params:
        **calls("papers.rejection.rejection_tables.write_tables", exhibits=rejection_catalogue.TABLES),
        tables=REJECTION.tables,
        settings=rejection_settings("best"),
        models=in_any_order(MODELS),


use rule cpu_job as rejection_figures with:
    input:
        observations=expand(OBSERVATIONS, model=MODELS, allow_missing=True),
        scores=expand(SCORES, model=MODELS, name=REJECTION.headline_group, allow_missing=True),
        questions=expand(REJECTION_QUESTIONS, model=MODELS, allow_missing=True),
    output:
        expand("{figure}.{kind}", figure=REJECTION_FIGURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/{{judge}}/rejection_figures.log",
    params:
        **calls("papers.rejection.rejection_figures.write_figures", exhibits=rejection_catalogue.FIGURES),
        exhibits=REJECTION_EXHIBITS,
        settings=rejection_settings(),
        models=in_any_order(MODELS),


use rule cpu_job as rejection_report with:
    input:
        measures=expand(REJECTION_MEASURES, model=MODELS, allow_missing=True),
        tables=expand("{table}.html", table=REJECTION_TABLES),
        figures=expand("{figure}.html", figure=REJECTION_FIGURES),
    output:
        page=f"{REJECTION_FOLDER}/report.html",
        summary=f"{REJECTION_FOLDER}/summary.txt",
    log:
        f"{LOGS}/{{judge}}/rejection_report.log",
    params:
        **calls("papers.rejection.rejection_report.write_report"),
        settings=rejection_settings(),
        models=in_any_order(MODELS),


TARGETS += exhibits_of("rejection", judge=REJECTION.judges)
