# Needs: items with answers, and of all models the family `semantics`; the families `beam_search`, `sar` and
#        `iterative_prompting` where they are run.
# Makes: results/<study>/ambiguity/: aligned/{model}/{benchmark}.parquet, a model's classes beside the right answers;
#        uncertainties/{model}.parquet and estimators/{model}.parquet; concordances.parquet, aurocs.parquet,
#        p_star.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


rule ambiguity_aligned:
    input:
        benchmark=ITEMS,
        semantics=expand(SIGNALS, family=AMBIGUITY_GROUPING, allow_missing=True),
        sources=lambda wildcards: [
            files[wildcards.benchmark] for files in AMBIGUITY.sources.values() if wildcards.benchmark in files
        ],
    output:
        AMBIGUITY_ALIGNED,
    log:
        f"{LOGS}/ambiguity_aligned/{{model}}/{{benchmark}}.log",
    conda:
        "../../../../envs/generate.yaml" if AMBIGUITY_BACKEND.weights else "../../../../envs/cpu.yaml"
    threads: CONFIG.generation.threads if AMBIGUITY_BACKEND.weights else 1
    resources:
        gpu=1 if AMBIGUITY_BACKEND.weights else 0,
        mem_mb=8000 if AMBIGUITY_BACKEND.weights else 4000,
        runtime=60,
    params:
        *analysis_code("ambiguity/aligned"),
        *fingerprint("signals.py", AMBIGUITY_BACKEND.module),
        source=AMBIGUITY.source,
        sources=lambda wildcards: {
            name: files[wildcards.benchmark]
            for name, files in AMBIGUITY.sources.items()
            if wildcards.benchmark in files
        },
        settings=study.comparing_settings(CONFIG, AMBIGUITY_GROUPING),
    script:
        "scripts/aligned.py"


rule ambiguity_uncertainties:
    input:
        aligned=expand(AMBIGUITY_ALIGNED, benchmark=AMBIGUITY_BENCHMARKS, allow_missing=True),
        signals=expand(SIGNALS, family=AMBIGUITY_FAMILIES, benchmark=AMBIGUITY_BENCHMARKS, allow_missing=True),
    output:
        uncertainties=AMBIGUITY_UNCERTAINTIES,
        estimates=AMBIGUITY_ESTIMATES,
    log:
        f"{LOGS}/ambiguity_uncertainties/{{model}}.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("ambiguity/uncertainties"),
        settings={"epsilon": AMBIGUITY.epsilon, "gammas": AMBIGUITY.gammas},
    script:
        "scripts/uncertainties.py"


rule ambiguity_measures:
    input:
        uncertainties=expand(AMBIGUITY_UNCERTAINTIES, model=MODELS),
        estimates=expand(AMBIGUITY_ESTIMATES, model=MODELS),
        aligned=expand(AMBIGUITY_ALIGNED, model=MODELS, benchmark=AMBIGUITY_BENCHMARKS),
    output:
        concordances=AMBIGUITY_CONCORDANCES,
        aurocs=AMBIGUITY_AUROCS,
        p_stars=AMBIGUITY_P_STARS,
    log:
        f"{LOGS}/ambiguity_measures.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("ambiguity/measures"),
        models=MODELS,
        settings={"source": AMBIGUITY.source, "thresholds": AMBIGUITY.thresholds},
    script:
        "scripts/measures.py"


rule ambiguity_tables:
    input:
        benchmarks=expand(ITEMS, benchmark=AMBIGUITY_BENCHMARKS),
        aligned=expand(AMBIGUITY_ALIGNED, model=MODELS[:1], benchmark=AMBIGUITY_BENCHMARKS),
        uncertainties=expand(AMBIGUITY_UNCERTAINTIES, model=MODELS),
        estimates=expand(AMBIGUITY_ESTIMATES, model=MODELS),
        concordances=AMBIGUITY_CONCORDANCES,
        aurocs=AMBIGUITY_AUROCS,
        p_stars=AMBIGUITY_P_STARS,
    output:
        expand("{table}.{kind}", table=AMBIGUITY_TABLES, kind=TABLE_KINDS),
        AMBIGUITY_PUBLISHED,
    log:
        f"{LOGS}/ambiguity_tables.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("ambiguity/tables", "report/exhibits.html.j2"),
        titles={name: AMBIGUITY.TABLES[name] for name in AMBIGUITY.tables},
        settings=AMBIGUITY_SHOWN,
    script:
        "scripts/tables.py"


rule ambiguity_figures:
    input:
        uncertainties=expand(AMBIGUITY_UNCERTAINTIES, model=MODELS),
        estimates=expand(AMBIGUITY_ESTIMATES, model=MODELS),
        p_stars=AMBIGUITY_P_STARS,
    output:
        expand("{figure}.{kind}", figure=AMBIGUITY_FIGURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/ambiguity_figures.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("ambiguity/figures", "report/exhibits.html.j2"),
        exhibits=AMBIGUITY_EXHIBITS,
        settings=AMBIGUITY_SHOWN,
    script:
        "scripts/figures.py"


rule ambiguity_report:
    input:
        concordances=AMBIGUITY_CONCORDANCES,
        p_stars=AMBIGUITY_P_STARS,
        uncertainties=expand(AMBIGUITY_UNCERTAINTIES, model=MODELS),
        tables=expand("{table}.html", table=AMBIGUITY_TABLES),
        figures=expand("{figure}.html", figure=AMBIGUITY_FIGURES),
    output:
        page=f"{AMBIGUITY_FOLDER}/report.html",
        summary=f"{AMBIGUITY_FOLDER}/summary.txt",
    log:
        f"{LOGS}/ambiguity_report.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code(
            "ambiguity/report",
            "report/exhibits.html.j2",
            "report/page.html.j2",
            "analyses/ambiguity/report.html.j2",
        ),
        settings=AMBIGUITY_SHOWN,
    script:
        "scripts/report.py"


TARGETS.append(f"{AMBIGUITY_FOLDER}/report.html")
