# Needs: of all models the observations and the scores of named groups, P(correct) of every response; items.
# Makes: results/<study>/{judge}/rejection/: questions/{model}.parquet, P(correct) by the question alone;
#        measures/{model}.parquet, what is read off the accuracy-rejection curves; tables/, figures/, report.html,
#        summary.txt.


include: "names.smk"


rule rejection_assessments:
    input:
        observations=OBSERVATIONS,
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
    output:
        REJECTION_QUESTIONS,
    log:
        f"{LOGS}/{{judge}}/rejection_assessments/{{model}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("rejection/assessments"),
        groups=list(REJECTION_ASSESSORS),
    script:
        "scripts/assessments.py"


rule rejection_measures:
    input:
        observations=OBSERVATIONS,
        scores=expand(SCORES, name=REJECTION.groups, allow_missing=True),
        questions=REJECTION_QUESTIONS,
    output:
        REJECTION_MEASURES,
    log:
        f"{LOGS}/{{judge}}/rejection_measures/{{model}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        *analysis_code("rejection/measures"),
        settings={
            "assessors": REJECTION_ASSESSORS,
            "accuracies": REJECTION.accuracies,
            "resamples": REJECTION.resamples,
            "seed": study.estimation_seed(CONFIG),
        },
    script:
        "scripts/measures.py"


rule rejection_tables:
    input:
        measures=expand(REJECTION_MEASURES, model=MODELS, allow_missing=True),
    output:
        expand("{table}.{kind}", table=REJECTION_TABLES, kind=TABLE_KINDS),
    log:
        f"{LOGS}/{{judge}}/rejection_tables.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("rejection/tables", "report/exhibits.html.j2"),
        titles={name: REJECTION.TABLES[name] for name in REJECTION.tables},
        settings=rejection_settings("best"),
        models=MODELS,
    script:
        "scripts/tables.py"


rule rejection_figures:
    input:
        observations=expand(OBSERVATIONS, model=MODELS, allow_missing=True),
        scores=expand(SCORES, model=MODELS, name=REJECTION.headline_group, allow_missing=True),
        questions=expand(REJECTION_QUESTIONS, model=MODELS, allow_missing=True),
    output:
        expand("{figure}.{kind}", figure=REJECTION_FIGURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/{{judge}}/rejection_figures.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("rejection/figures", "report/exhibits.html.j2"),
        exhibits=REJECTION_EXHIBITS,
        settings=rejection_settings(),
        models=MODELS,
    script:
        "scripts/figures.py"


rule rejection_report:
    input:
        measures=expand(REJECTION_MEASURES, model=MODELS, allow_missing=True),
        tables=expand("{table}.html", table=REJECTION_TABLES),
        figures=expand("{figure}.html", figure=REJECTION_FIGURES),
    output:
        page=f"{REJECTION_FOLDER}/report.html",
        summary=f"{REJECTION_FOLDER}/summary.txt",
    log:
        f"{LOGS}/{{judge}}/rejection_report.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code(
            "rejection/report", "report/exhibits.html.j2", "report/page.html.j2", "analyses/rejection/report.html.j2"
        ),
        settings=rejection_settings(),
        models=MODELS,
    script:
        "scripts/report.py"


TARGETS += expand(f"{REJECTION_FOLDER}/report.html", judge=REJECTION.judges)
