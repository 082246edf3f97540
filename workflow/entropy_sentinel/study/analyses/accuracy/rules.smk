# Needs: the estimates of all models and training groups; the observations of all models; where everything came from.
# Makes: results/<study>/{judge}/sweep.parquet, AEE and rho of every estimator; auroc.parquet and domains.parquet, what
#        separates correct from incorrect, and counts; repeats/{model}.parquet, errors under other seeds;
#        validation/{model}.json, what leaving out each labelled domain says of the recommended estimator, and its
#        estimates of the others; tables/, figures/, paper/ (in the style paper), report.html, summary.txt and summary.json.
# Each family of exhibits is one job: another colour redraws the figures and the page that they stand on, no table.


include: "names.smk"


use rule cpu_job as accuracy_sweep with:
    input:
        estimates=expand(ESTIMATES, model=MODELS, group=GROUP_FILES, allow_missing=True),
    output:
        SWEEP,
    log:
        f"{LOGS}/{{judge}}/accuracy_sweep.log",
    params:
        **calls("study.analyses.accuracy.measuring.accuracy_measures.write_sweep"),
        models=in_any_order(MODELS),
        groups=in_any_order(list(GROUPS)),


use rule cpu_job as accuracy_domains with:
    input:
        observations=expand(OBSERVATIONS, model=MODELS, allow_missing=True),
    output:
        auroc=AUROC,
        domains=DOMAINS,
    log:
        f"{LOGS}/{{judge}}/accuracy_domains.log",
    params:
        **calls("study.analyses.accuracy.measuring.accuracy_measures.write_domains"),
        models=in_any_order(MODELS),


use rule cpu_job as accuracy_repeats with:
    input:
        observations=OBSERVATIONS,
    output:
        ACCURACY_REPEATS,
    log:
        f"{LOGS}/{{judge}}/accuracy_repeats/{{model}}.log",
    resources:
        mem_mb=2000,
        runtime=240,
    params:
        **calls("study.analyses.accuracy.measuring.accuracy_measures.write_repeats"),
        groups=ACCURACY_REPEATED,
        settings=group_estimates.estimation_settings(CONFIG, []),
        seeds=[group_estimates.find_estimation_seed(CONFIG) + place for place in range(ACCURACY_SEEDS)],


use rule cpu_job as accuracy_validation with:
    input:
        observations=OBSERVATIONS,
    output:
        ACCURACY_VALIDATION,
    log:
        f"{LOGS}/{{judge}}/accuracy_validation/{{model}}.log",
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        **calls("study.analyses.accuracy.measuring.study_validation.write_validation"),
        settings=group_estimates.estimation_settings(CONFIG, ACCURACY_VALIDATED),


use rule cpu_job as accuracy_tables with:
    input:
        sweep=SWEEP,
        auroc=AUROC,
        domains=DOMAINS,
        repeats=expand(ACCURACY_REPEATS, model=MODELS, allow_missing=True) if ACCURACY_SEEDS else [],
        estimates=expand(ESTIMATES, model=MODELS, group=ACCURACY_GROUP_FILES.values(), allow_missing=True),
        validation=expand(ACCURACY_VALIDATION, model=MODELS, allow_missing=True),
        generations=expand(GENERATIONS, model=MODELS, benchmark=BENCHMARKS),
        labels=expand(LABELS, model=MODELS, benchmark=BENCHMARKS, allow_missing=True),
    output:
        expand("{table}.{kind}", table=ACCURACY_TABLES, kind=TABLE_KINDS),
        ACCURACY_PUBLISHED,
    log:
        f"{LOGS}/{{judge}}/accuracy_tables.log",
    params:
        **calls("study.analyses.accuracy.accuracy_tables.write_tables", exhibits=accuracy_catalogue.TABLES),
        tables=ACCURACY.tables,
        settings=shown(ACCURACY, "main_groups", "auroc_models", "auroc_benchmarks")
        | {"default": CONFIG.estimation.default},


use rule cpu_job as accuracy_figures with:
    input:
        sweep=SWEEP,
        auroc=AUROC,
        domains=DOMAINS,
        estimates=ACCURACY_HEADLINE,
        validation=expand(ACCURACY_VALIDATION, model=MODELS, allow_missing=True),
        observations=expand(OBSERVATIONS, model=ACCURACY.figure_model, allow_missing=True)[0],
    output:
        expand("{figure}.{kind}", figure=ACCURACY_FIGURES, kind=FIGURE_KINDS),
    log:
        f"{LOGS}/{{judge}}/accuracy_figures.log",
    params:
        **calls("study.analyses.accuracy.accuracy_figures.write_figures", exhibits=accuracy_catalogue.FIGURES),
        figures=ACCURACY.figures,
        settings=shown(ACCURACY, "figure_model", "figure_benchmark") | {"default": CONFIG.estimation.default},


use rule cpu_job as accuracy_report with:
    input:
        sweep=SWEEP,
        domains=DOMAINS,
        estimates=ACCURACY_HEADLINE,
        validation=expand(ACCURACY_VALIDATION, model=MODELS, allow_missing=True),
        generations=expand(GENERATIONS, model=MODELS, benchmark=BENCHMARKS),
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
        labels=expand(LABELS, model=MODELS, benchmark=BENCHMARKS, allow_missing=True),
        tables=expand("{table}.html", table=ACCURACY_TABLES),
        figures=expand("{figure}.html", figure=ACCURACY_FIGURES),
    output:
        page=REPORT,
        summary=f"{RESULTS}/{{judge}}/summary.txt",
        machine=f"{RESULTS}/{{judge}}/summary.json",
    log:
        f"{LOGS}/{{judge}}/accuracy_report.log",
    params:
        **calls("study.analyses.accuracy.accuracy_report.write_report"),
        settings=lambda wildcards: shown(ACCURACY)
        | {"expected_items": {name: CONFIG.benchmarks[name].expected_items for name in sorted(BENCHMARKS)}}
        | {"default": CONFIG.estimation.default}
        | {"pages": group_estimates.link_pages(CONFIG, wildcards.judge, "accuracy")},


if ACCURACY_PAPER:

    use rule cpu_job as accuracy_paper with:
        input:
            sweep=SWEEP,
            auroc=AUROC,
            domains=DOMAINS,
            estimates=ACCURACY_HEADLINE,
            observations=expand(OBSERVATIONS, model=ACCURACY.figure_model, allow_missing=True)[0],
        output:
            ACCURACY_PAPER,
        log:
            f"{LOGS}/{{judge}}/accuracy_paper.log",
        params:
            **calls("study.analyses.accuracy.paper_document.write_paper"),
            tables=ACCURACY_PAPER_TABLES,
            figures=ACCURACY_PAPER_FIGURES,
            settings=shown(
                ACCURACY, "main_groups", "auroc_models", "auroc_benchmarks", "figure_model", "figure_benchmark"
            )
            | {"default": CONFIG.estimation.default}
            | {"models": {name: CONFIG.models[name].title or name for name in sorted(MODELS)}}
            | {"benchmarks": {name: CONFIG.benchmarks[name].title or name for name in sorted(BENCHMARKS)}},


TARGETS += expand(ACCURACY_PAPER, judge=ACCURACY.judges)
TARGETS += exhibits_of("accuracy", judge=ACCURACY.judges)
