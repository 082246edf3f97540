# Needs: items with answers, and of all models the family `semantics`; the families `beam_search`, `sar` and
#        `iterative_prompting` where they are run.
# Makes: results/<study>/ambiguity/: aligned/{model}/{benchmark}.parquet, a model's classes beside the right answers;
#        uncertainties/{model}.parquet and estimators/{model}.parquet; concordances.parquet, aurocs.parquet,
#        p_star.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


use rule cpu_job as ambiguity_aligned with:
    input:
        benchmark=ITEMS,
        semantics=SIGNALS.replace("{family}", AMBIGUITY_GROUPING),
        sources=lambda wildcards: [
            files[wildcards.benchmark] for files in AMBIGUITY.sources.values() if wildcards.benchmark in files
        ],
    output:
        AMBIGUITY_ALIGNED,
    log:
        f"{LOGS}/ambiguity_aligned/{{model}}/{{benchmark}}.log",
    conda:
        GENERATE_ENV if AMBIGUITY_BACKEND.weights else CPU_ENV
    threads: CONFIG.generation.threads if AMBIGUITY_BACKEND.weights else 1
    resources:
        gpu=1 if AMBIGUITY_BACKEND.weights else 0,
        mem_mb=8000 if AMBIGUITY_BACKEND.weights else 4000,
        runtime=60,
    params:
        **calls("papers.ambiguity.class_alignment.write_aligned_classes"),
        source=AMBIGUITY.source,
        sources=lambda wildcards: {
            name: files[wildcards.benchmark]
            for name, files in AMBIGUITY.sources.items()
            if wildcards.benchmark in files
        },
        settings=generation_requests.comparing_settings(CONFIG, AMBIGUITY_GROUPING),


use rule cpu_job as ambiguity_uncertainties with:
    input:
        aligned=expand(AMBIGUITY_ALIGNED, benchmark=AMBIGUITY_BENCHMARKS, allow_missing=True),
        signals=expand(SIGNALS, family=AMBIGUITY_FAMILIES, benchmark=AMBIGUITY_BENCHMARKS, allow_missing=True),
    output:
        uncertainties=AMBIGUITY_UNCERTAINTIES,
        estimates=AMBIGUITY_ESTIMATES,
    log:
        f"{LOGS}/ambiguity_uncertainties/{{model}}.log",
    params:
        **calls("papers.ambiguity.item_uncertainties.write_uncertainties"),
        settings={"epsilon": AMBIGUITY.epsilon, "gammas": AMBIGUITY.gammas},


use rule cpu_job as ambiguity_measures with:
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
    params:
        **calls("papers.ambiguity.ambiguity_measures.write_measures"),
        models=in_any_order(MODELS),
        settings={"source": AMBIGUITY.source, "thresholds": AMBIGUITY.thresholds},


use rule cpu_job as ambiguity_tables with:
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
    params:
        **calls("papers.ambiguity.ambiguity_tables.write_tables", exhibits=ambiguity_catalogue.TABLES),
        tables=AMBIGUITY.tables,
        settings=AMBIGUITY_EXHIBIT_SETTINGS,


use rule cpu_job as ambiguity_figures with:
    input:
        uncertainties=expand(AMBIGUITY_UNCERTAINTIES, model=MODELS),
        estimates=expand(AMBIGUITY_ESTIMATES, model=MODELS),
        p_stars=AMBIGUITY_P_STARS,
    output:
        expand("{figure}.{kind}", figure=AMBIGUITY_FIGURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/ambiguity_figures.log",
    params:
        **calls("papers.ambiguity.ambiguity_figures.write_figures", exhibits=ambiguity_catalogue.FIGURES),
        exhibits=AMBIGUITY_EXHIBITS,
        settings=AMBIGUITY_EXHIBIT_SETTINGS,


use rule cpu_job as ambiguity_report with:
    input:
        concordances=AMBIGUITY_CONCORDANCES,
        p_stars=AMBIGUITY_P_STARS,
        tables=expand("{table}.html", table=AMBIGUITY_TABLES),
        figures=expand("{figure}.html", figure=AMBIGUITY_FIGURES),
    output:
        page=f"{AMBIGUITY_FOLDER}/report.html",
        summary=f"{AMBIGUITY_FOLDER}/summary.txt",
    log:
        f"{LOGS}/ambiguity_report.log",
    params:
        **calls("papers.ambiguity.ambiguity_report.write_report"),
        settings=AMBIGUITY_EXHIBIT_SETTINGS,


TARGETS += exhibits_of("ambiguity")
