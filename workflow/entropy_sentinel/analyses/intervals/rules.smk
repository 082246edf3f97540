# Needs: of the variants that state intervals, or answer with integers, the responses to both halves; features; where the
#        family `integers` is run, its pass; items. No labels.
# Makes: results/<study>/intervals/: stated/{model}.parquet and integers/{model}.parquet, what variants say;
#        beliefs.parquet, distributions over integers; adjusted.parquet, the intervals of every method; scores.parquet,
#        differences.parquet, sets.parquet, tunnel_index.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


rule intervals_stated:
    input:
        expand(GENERATIONS, benchmark=INTERVALS_HALVES, allow_missing=True),
    output:
        INTERVALS_STATED,
    log:
        f"{LOGS}/intervals_stated/{{model}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/stated"),
        level=lambda wildcards: INTERVALS_LEVELS[wildcards.model],
        farthest=INTERVALS.farthest,
    script:
        "scripts/stated.py"


rule intervals_integers:
    input:
        expand(GENERATIONS, benchmark=INTERVALS_HALVES, allow_missing=True),
    output:
        INTERVALS_INTEGERS,
    log:
        f"{LOGS}/intervals_integers/{{model}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/integers"),
        temperature=lambda wildcards: INTERVALS_TEMPERATURES[wildcards.model],
        farthest=INTERVALS.farthest,
    script:
        "scripts/integers.py"


rule intervals_beliefs:
    input:
        integers=expand(INTERVALS_INTEGERS, model=INTERVALS_READ),
        generations=expand(GENERATIONS, model=INTERVALS_READ, benchmark=INTERVALS_HALVES),
        passes=INTERVALS_PASSES,
    output:
        INTERVALS_BELIEFS,
    log:
        f"{LOGS}/intervals_beliefs.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/beliefs"),
        models=INTERVALS_MODELS,
        farthest=INTERVALS.farthest,
    script:
        "scripts/beliefs.py"


rule intervals_adjusted:
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
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/adjusted"),
        settings={
            "models": INTERVALS_MODELS,
            "levels": INTERVALS_LEVELS,
            "covariates": INTERVALS.covariates,
            "undercoverage": INTERVALS.undercoverage,
            "seed": study.estimation_seed(CONFIG),
        },
    script:
        "scripts/adjusted.py"


rule intervals_scores:
    input:
        INTERVALS_ADJUSTED,
    output:
        scores=INTERVALS_SCORES,
        differences=INTERVALS_DIFFERENCES,
    log:
        f"{LOGS}/intervals_scores.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/scores"),
        settings=INTERVALS_RESAMPLES,
    script:
        "scripts/scores.py"


rule intervals_sets:
    input:
        beliefs=INTERVALS_BELIEFS,
        adjusted=INTERVALS_ADJUSTED,
        calibration=ITEMS.format(benchmark=INTERVALS.calibration),
        test=ITEMS.format(benchmark=INTERVALS.test),
    output:
        INTERVALS_SETS,
    log:
        f"{LOGS}/intervals_sets.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/sets"),
    script:
        "scripts/sets.py"


rule intervals_tunnel_index:
    input:
        beliefs=INTERVALS_BELIEFS,
        integers=expand(INTERVALS_INTEGERS, model=INTERVALS_TEMPERATURES),
        test=ITEMS.format(benchmark=INTERVALS.test),
    output:
        INTERVALS_TUNNEL,
    log:
        f"{LOGS}/intervals_tunnel_index.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/tunnel_index"),
        models=INTERVALS_MODELS,
        settings=INTERVALS_RESAMPLES,
    script:
        "scripts/tunnel_index.py"


rule intervals_tables:
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
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/tables", "report/exhibits.html.j2"),
        titles={name: INTERVALS.TABLES[name] for name in INTERVALS.tables},
        settings=INTERVALS_SHOWN,
    script:
        "scripts/tables.py"


rule intervals_figures:
    input:
        benchmarks=expand(ITEMS, benchmark=INTERVALS_HALVES),
        scores=INTERVALS_SCORES,
    output:
        expand("{figure}.{kind}", figure=INTERVALS_PICTURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/intervals_figures.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("intervals/figures", "report/exhibits.html.j2"),
        titles={name: INTERVALS.FIGURES[name] for name in INTERVALS.figures},
        settings=INTERVALS_SHOWN,
    script:
        "scripts/figures.py"


rule intervals_report:
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
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code(
            "intervals/report",
            "report/exhibits.html.j2",
            "report/page.html.j2",
            "analyses/intervals/report.html.j2",
        ),
        settings=INTERVALS_SHOWN,
    script:
        "scripts/report.py"


TARGETS.append(f"{INTERVALS_FOLDER}/report.html")
