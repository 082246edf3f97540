"""The summary for programs, `summary.json`, with the content of `summary.txt` and the top of the report.

docs/summary.md explains its keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from entropy_sentinel.estimators.verdict_limits import CONFIDENCE
from entropy_sentinel.study.analyses.accuracy.headline import Headline, Score
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import (
    LEVEL,
    DomainResult,
    EstimatorErrors,
    ModelValidation,
)
from entropy_sentinel.study.analyses.accuracy.study_advice import Advice
from entropy_sentinel.study.analyses.accuracy.unanswered_share import UnansweredDomain
from entropy_sentinel.study.analyses.display_names import TrainingGroup

_GROUP_KEYS = (
    "benchmark",
    "role",
    "n_rows",
    "n_labelled",
    "estimated_accuracy",
    "estimated_on_labelled",
    "true_accuracy",
    "error",
    "reason",
)


def build_machine_summary(
    label: str,
    validations: Sequence[ModelValidation],
    headlines: Sequence[Headline],
    group: TrainingGroup,
    default: str,
    advice: Sequence[Advice],
    ambiguous: Sequence[str],
    failures: Sequence[str],
    gaps: Sequence[Mapping[str, Any]],
    unanswered: Sequence[UnansweredDomain],
) -> dict[str, Any]:
    """The summary, JSON-serialisable, with the keys in docs/summary.md.

    `group` is the training group of the `headlines`, `default` the name of the paper's default estimator. `gaps` are
    those of `study_advice.find_gaps`; `ambiguous` and `failures` are sentences.
    """
    results = {headline.model: _summarise_headline(headline) for headline in headlines}
    models = []
    for validation in validations:
        model_advice = [_summarise_advice(text) for text in advice if text.model == validation.model]
        group_fields = {"advice": model_advice, "training_group": results.get(validation.model)}
        models.append(_summarise_model(validation, default) | group_fields)
    return {
        "study": label,
        "level": LEVEL,
        "training_group": {
            "title": group.title,
            "benchmarks": group.group_id.split("+"),
            "estimator": group.estimator,
        },
        "models": models,
        "ambiguous": list(ambiguous),
        "failures": list(failures),
        "gaps": [dict(row) for row in gaps],
        "unanswered": [asdict(domain) for domain in unanswered],
    }


def _summarise_model(validation: ModelValidation, default: str) -> dict[str, Any]:
    """The keys of one model that come from its validation."""
    return {
        "model": validation.model,
        "verdict": validation.verdict,
        "reasons": list(validation.reasons),
        "confidence": CONFIDENCE,
        "error_at_least": validation.error_at_least,
        "error_at_most": validation.error_at_most,
        "recommended": _list_numbers(validation.recommended)
        | {"method": validation.method, "method_reason": validation.method_reason},
        "default": _summarise_method(validation.find_errors(default)),
        "best": _summarise_method(validation.best),
        "worst": None if validation.worst is None else _summarise_domain(validation.worst),
        "coverage": [dict(row) for row in validation.coverage],
        "left_out": [_summarise_domain(domain) for domain in validation.left_out],
        "unlabelled": [_summarise_domain(domain) for domain in validation.unlabelled],
        "n_training": validation.n_training,
        "training_accuracy": validation.training_accuracy,
        "caution": validation.caution,
        "new_groups": None if validation.new_groups is None else validation.new_groups.to_dict(),
    }


def _summarise_method(method: EstimatorErrors | None) -> dict[str, Any] | None:
    return None if method is None else _list_numbers(method)


def _list_numbers(method: EstimatorErrors) -> dict[str, Any]:
    """The fields without the errors by domain, which only the validation's file has."""
    return {name: value for name, value in asdict(method).items() if name != "errors"}


def _summarise_domain(domain: DomainResult) -> dict[str, Any]:
    return asdict(domain) | {"error": domain.error}


def _summarise_advice(advice: Advice) -> dict[str, Any]:
    fields = asdict(advice) | {"outside": advice.outside, "text": advice.text}
    return {key: value for key, value in fields.items() if key != "model"}


def _summarise_headline(headline: Headline) -> dict[str, Any]:
    """The results of one training group for one model, with None for an estimator that was not run."""
    chosen = headline.recommended
    recommended = best_simple = None
    if chosen is not None:
        recommended = {"method": chosen.method, "reason": chosen.reason, "scores": _summarise_scores(chosen.scores)}
    if headline.simple is not None:
        best_simple = {"method": headline.simple, "scores": _summarise_scores(headline.simple_scores)}
    return {
        "domains": [{key: row[key] for key in _GROUP_KEYS} for row in (*headline.domains, *headline.unlabelled)],
        "scores": _summarise_scores(headline.scores),
        "recommended": recommended,
        "best_simple": best_simple,
        "caution": headline.caution,
    }


def _summarise_scores(scores: Mapping[str, Score]) -> dict[str, Any]:
    return {scope: asdict(score) for scope, score in scores.items()}
