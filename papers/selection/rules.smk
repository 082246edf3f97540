# Needs: items with references, a model's responses to them, their labels; for the strategy eas, the pass
#        forced_answer.
# Makes: results/<study>/{judge}/selection/: {model}/{strategy}.jsonl, what a trainer reads; candidates/{model}.parquet
#        and selections/{model}.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


use rule cpu_job as selection_choice with:
    input:
        benchmarks=expand(ITEMS, benchmark=CONFIG.labelled_benchmarks),
        generations=expand(GENERATIONS, benchmark=CONFIG.labelled_benchmarks, allow_missing=True),
        labels=expand(LABELS, benchmark=CONFIG.labelled_benchmarks, allow_missing=True),
        asked=(
            expand(PASSES, family=FORCED_ANSWER, benchmark=CONFIG.labelled_benchmarks, allow_missing=True)
            if "eas" in SELECTION.strategies
            else []
        ),
        solutions=SELECTION.solutions,
    output:
        *SELECTION_TRAINING.values(),
        candidates=SELECTION_CANDIDATES,
        selections=SELECTION_FILES,
    log:
        f"{LOGS}/{{judge}}/selection/{{model}}.log",
    params:
        **calls("papers.selection.selection_files.write_selections"),
        training_files=lambda wildcards: {name: path.format(**wildcards) for name, path in SELECTION_TRAINING.items()},
        settings=lambda wildcards: {
            **{key: getattr(SELECTION, key) for key in ("size", "seed", "tries", "answer")},
            "prompt": generation_requests.prompt_settings(CONFIG, wildcards.model),
        },


use rule cpu_job as selection_report with:
    input:
        candidates=expand(SELECTION_CANDIDATES, model=MODELS, allow_missing=True),
        selections=expand(SELECTION_FILES, model=MODELS, allow_missing=True),
    output:
        *SELECTION_EXHIBITS,
        page=f"{SELECTION_FOLDER}/report.html",
        summary=f"{SELECTION_FOLDER}/summary.txt",
    log:
        f"{LOGS}/{{judge}}/selection/report.log",
    params:
        **calls(
            "papers.selection.selection_report.write_report",
            exhibits={**selection_catalogue.TABLES, **selection_catalogue.FIGURES},
        ),
        models=in_any_order(MODELS),
        settings={
            "label": SELECTION.label(CONFIG.study),
            **{key: getattr(SELECTION, key) for key in ("tables", "figures", "strategies", "answer", "tries")},
        },


TARGETS += exhibits_of("selection", judge=SELECTION.judges)
# What a trainer reads, which nothing here does.
TARGETS += expand(SELECTION_TRAINING.values(), judge=SELECTION.judges, model=MODELS)
