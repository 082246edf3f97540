# Needs: items with references, a model's responses to them, their labels; for the strategy eas the pass forced_answer.
# Makes: results/<study>/{judge}/selection/: {model}/{strategy}.jsonl, what a trainer reads; candidates/{model}.parquet
#        and selections/{model}.parquet; tables/, figures/, report.html, summary.txt.


include: "names.smk"


rule selection_choice:
    input:
        benchmarks=expand(ITEMS, benchmark=CONFIG.labelled),
        generations=expand(GENERATIONS, benchmark=CONFIG.labelled, allow_missing=True),
        labels=expand(LABELS, benchmark=CONFIG.labelled, allow_missing=True),
        asked=(
            expand(PASSES, family=FORCED_ANSWER, benchmark=CONFIG.labelled, allow_missing=True)
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
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code("selection/choice"),
        strategies=SELECTION.strategies,
        settings=lambda wildcards: {
            **{key: getattr(SELECTION, key) for key in ("size", "seed", "tries", "answer")},
            "prompt": study.prompt_settings(CONFIG, wildcards.model),
        },
    script:
        "scripts/choice.py"


rule selection_report:
    input:
        candidates=expand(SELECTION_CANDIDATES, model=MODELS, allow_missing=True),
        selections=expand(SELECTION_FILES, model=MODELS, allow_missing=True),
    output:
        *SELECTION_EXHIBITS,
        page=f"{SELECTION_FOLDER}/report.html",
        summary=f"{SELECTION_FOLDER}/summary.txt",
    log:
        f"{LOGS}/{{judge}}/selection/report.log",
    conda:
        "../../../../envs/cpu.yaml"
    resources:
        **USUAL,
    params:
        *analysis_code(
            "selection/report", "report/exhibits.html.j2", "report/page.html.j2", "analyses/selection/report.html.j2"
        ),
        models=MODELS,
        settings={
            "label": SELECTION.label(CONFIG.study),
            **{key: getattr(SELECTION, key) for key in ("tables", "figures", "strategies", "answer", "tries")},
        },
    script:
        "scripts/report.py"


TARGETS += expand(rules.selection_report.output.page, judge=SELECTION.judges)
