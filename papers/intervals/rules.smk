# Needs: of the variants that state intervals, or answer with integers, the responses to both halves; features; where the
#        family `integers` is run, its pass; items. No labels.
# Makes: results/<study>/intervals/: stated/{model}.parquet and integers/{model}.parquet, what variants say;
#        beliefs.parquet, distributions over integers; adjusted.parquet, the intervals of every method; scores.parquet,
#        differences.parquet, sets.parquet, tunnel_index.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


use rule cpu_job as intervals_stated with:
    input:
        generations=expand(GENERATIONS, benchmark=INTERVALS_HALVES, allow_missing=True),
    output:
        INTERVALS_STATED,
    log:
        f"{LOGS}/intervals_stated/{{model}}.log",
    params:
        **calls("papers.intervals.statement_parsing.write_stated"),
        level=lambda wildcards: INTERVALS_LEVELS[wildcards.model],
        farthest=INTERVALS.farthest,


use rule cpu_job as intervals_integers with:
    input:
        generations=expand(GENERATIONS, benchmark=INTERVALS_HALVES, allow_missing=True),
    output:
        INTERVALS_INTEGERS,
    log:
        f"{LOGS}/intervals_integers/{{model}}.log",
    params:
        **calls("papers.intervals.statement_parsing.write_integers"),
        temperature=lambda wildcards: INTERVALS_TEMPERATURES[wildcards.model],
        farthest=INTERVALS.farthest,


use rule cpu_job as intervals_beliefs with:
    input:
        integers=expand(INTERVALS_INTEGERS, model=INTERVALS_READ),
        generations=expand(GENERATIONS, model=INTERVALS_READ, benchmark=INTERVALS_HALVES),
        passes=INTERVALS_PASSES,
    output:
        INTERVALS_BELIEFS,
    log:
        f"{LOGS}/intervals_beliefs.log",
    params:
        **calls("papers.intervals.integer_beliefs.write_beliefs"),
        models=INTERVALS_MODELS,
        farthest=INTERVALS.farthest,


use rule cpu_job as intervals_adjusted with:
    input:
        stated=expand(INTERVALS_STATED, model=INTERVALS_LEVELS),
        integers=expand(INTERVALS_INTEGERS, model=INTERVALS_TEMPERATURES),
        features=expand(FEATURES, model=INTERVALS_LEVELS, benchmark=INTERVALS_HALVES),
        beliefs=INTERVALS_BELIEFS,
        calibration=ITEMS.format(benchmark=INTERVALS.calibration),
        test=ITEMS.format(benchmark=INTERVALS.test),
    output:
        INTERVALS_ADJUSTED,
    log:
        f"{LOGS}/intervals_adjusted.log",
    params:
        **calls("papers.intervals.interval_methods.write_adjusted"),
        settings={
            "models": INTERVALS_MODELS,
            "levels": INTERVALS_LEVELS,
            "covariates": INTERVALS.covariates,
            "undercoverage": INTERVALS.undercoverage,
            "seed": group_estimates.find_estimation_seed(CONFIG),
        },


use rule cpu_job as intervals_scores with:
    input:
        adjusted=INTERVALS_ADJUSTED,
        stated=expand(INTERVALS_STATED, model=INTERVALS_LEVELS),
    output:
        scores=INTERVALS_SCORES,
        differences=INTERVALS_DIFFERENCES,
    log:
        f"{LOGS}/intervals_scores.log",
    params:
        **calls("papers.intervals.interval_scores.write_scores"),
        models=INTERVALS_MODELS,
        settings=INTERVALS_RESAMPLES,


use rule cpu_job as intervals_sets with:
    input:
        beliefs=INTERVALS_BELIEFS,
        adjusted=INTERVALS_ADJUSTED,
        calibration=ITEMS.format(benchmark=INTERVALS.calibration),
        test=ITEMS.format(benchmark=INTERVALS.test),
    output:
        INTERVALS_SETS,
    log:
        f"{LOGS}/intervals_sets.log",
    params:
        **calls("papers.intervals.interval_scores.write_sets"),


use rule cpu_job as intervals_tunnel_index with:
    input:
        beliefs=INTERVALS_BELIEFS,
        integers=expand(INTERVALS_INTEGERS, model=INTERVALS_TEMPERATURES),
        test=ITEMS.format(benchmark=INTERVALS.test),
    output:
        INTERVALS_TUNNEL,
    log:
        f"{LOGS}/intervals_tunnel_index.log",
    params:
        **calls("papers.intervals.interval_scores.write_tunnel_index"),
        models=INTERVALS_MODELS,
        settings=INTERVALS_RESAMPLES,


use rule cpu_job as intervals_tables with:
    input:
        benchmarks=expand(ITEMS, benchmark=INTERVALS_HALVES),
        stated=expand(INTERVALS_STATED, model=INTERVALS_LEVELS),
        integers=expand(INTERVALS_INTEGERS, model=INTERVALS_TEMPERATURES),
        adjusted=INTERVALS_ADJUSTED,
        scores=INTERVALS_SCORES,
        differences=INTERVALS_DIFFERENCES,
        sets=INTERVALS_SETS,
        tunnel_index=INTERVALS_TUNNEL,
    output:
        expand("{table}.{kind}", table=INTERVALS_EXHIBITS, kind=TABLE_KINDS),
        INTERVALS_PUBLISHED,
    log:
        f"{LOGS}/intervals_tables.log",
    params:
        **calls("papers.intervals.interval_tables.write_tables", exhibits=intervals_catalogue.TABLES),
        tables=INTERVALS.tables,
        settings=INTERVALS_SHOWN,


use rule cpu_job as intervals_figures with:
    input:
        benchmarks=expand(ITEMS, benchmark=INTERVALS_HALVES),
        scores=INTERVALS_SCORES,
    output:
        expand("{figure}.{kind}", figure=INTERVALS_PICTURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/intervals_figures.log",
    params:
        **calls("papers.intervals.interval_figures.write_figures", exhibits=intervals_catalogue.FIGURES),
        figures=INTERVALS.figures,
        settings=INTERVALS_SHOWN,


use rule cpu_job as intervals_report with:
    input:
        scores=INTERVALS_SCORES,
        differences=INTERVALS_DIFFERENCES,
        tables=expand("{table}.html", table=INTERVALS_EXHIBITS),
        figures=expand("{figure}.html", figure=INTERVALS_PICTURES),
    output:
        page=f"{INTERVALS_FOLDER}/report.html",
        summary=f"{INTERVALS_FOLDER}/summary.txt",
    log:
        f"{LOGS}/intervals_report.log",
    params:
        **calls("papers.intervals.interval_report.write_report"),
        settings=INTERVALS_SHOWN,


TARGETS += exhibits_of("intervals")
