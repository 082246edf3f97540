# Needs: the observations, items, traces and labels of one model, P(correct) of its responses where it is kept, and its
#        forced answers where the study has them.
# Makes: results/<study>/{judge}/responses/{model}.html, single responses token by token.

RESPONSES = CONFIG.analyses.responses
RESPONSE_PAGES = f"{RESULTS}/{{judge}}/responses/{{model}}.html"
# P(correct) by a group is there where its estimators are kept.
RESPONSE_SCORES = (
    [SCORES.format(judge="{judge}", model="{model}", name=RESPONSES.group)] if RESPONSES.group in KEPT else []
)
# How unsure the model was of its answer all along, where the study asks it.
RESPONSE_PASSES = (
    expand(PASSES, family="forced_answer", benchmark=BENCHMARKS, allow_missing=True)
    if "forced_answer" in PASSES_OF
    else []
)


use rule cpu_job as responses_page with:
    input:
        observations=OBSERVATIONS,
        benchmarks=expand(ITEMS, benchmark=BENCHMARKS),
        generations=expand(GENERATIONS, benchmark=BENCHMARKS, allow_missing=True),
        labels=expand(LABELS, benchmark=BENCHMARKS, allow_missing=True),
        scores=RESPONSE_SCORES,
        asked=RESPONSE_PASSES,
    output:
        page=RESPONSE_PAGES,
    log:
        f"{LOGS}/{{judge}}/responses_page/{{model}}.log",
    params:
        **calls("study.analyses.responses.response_page.write_page"),
        benchmarks=in_any_order(BENCHMARKS),
        settings=lambda wildcards: {
            "label": RESPONSES.label(CONFIG.study),
            "model": wildcards.model,
            "estimator": NAMED_GROUPS[RESPONSES.group]["estimator"] if RESPONSES.group else None,
            **{key: getattr(RESPONSES, key) for key in ("per_kind", "most_tokens", "alternatives")},
        },


TARGETS += expand(RESPONSE_PAGES, judge=RESPONSES.judges, model=MODELS)
