"""Measure a judge with an audit: agreement, error rates, and each domain's accuracy corrected for them.

The sample is stratified, so the weight of an answer is the number of responses per answer in its stratum. The intervals
are those of a simple random sample with the effective size of the weights; they ignore the gain from stratification.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.formatting.spreadsheet import write_table
from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.terminal_text import Part, format_terminal_table
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.statistics.judge_agreement import (
    Interval,
    cohen_kappa,
    corrected_share,
    weighted_sample_size,
    wilson_interval,
)
from entropy_sentinel.study.auditing.audit_sample import STRATUM, AuditSample, SampleOrigin
from entropy_sentinel.study.auditing.auditor_answers import LABELS, Answers

_VERDICTS = ("correct", "incorrect")
_RATES = {
    "kappa": "Cohen's kappa",
    "sensitivity": "correct responses that the judge calls correct",
    "specificity": "incorrect responses that the judge calls incorrect",
    "correct_among_nulls": "correct among those that the judge left null",
}


@dataclass(frozen=True)
class Audit:
    """The figures of an audit.

    `agreement` has a row for all responses, and for each verdict, model, benchmark and stratum; `domains` has one for
    each model and benchmark. `counts` are the numbers of answers by label, and of `not_answered`. `covered` is the
    share of the judge's labels in strata with an answer; all shares are over these. _RATES explains the other fields.
    """

    about: SampleOrigin
    counts: dict[str, int]
    covered: float
    agreement: pl.DataFrame
    kappa: Interval
    sensitivity: Interval
    specificity: Interval
    correct_among_nulls: Interval
    domains: pl.DataFrame


def measure_judge(sample: AuditSample, answers: Answers) -> Audit:
    """Compute the figures of `answers`; raise InputError if none is for a response that the judge has labelled."""
    provenance = sample.provenance
    labels = [answers.get(response) for response in sample.rows.select(RESPONSE).rows()]
    rows = sample.rows.with_columns(answer=pl.Series(labels, dtype=pl.String))
    strata = pl.DataFrame(provenance["strata"])
    decided = rows.filter(pl.col("answer").is_in(_VERDICTS)).join(strata.select(*STRATUM, "n"), on=STRATUM, how="left")
    # Each answer stands for this many responses of its stratum.
    decided = decided.with_columns(weight=pl.col("n") / pl.len().over(STRATUM))
    judged = decided.filter(pl.col("verdict").is_in(_VERDICTS)).with_columns(same=pl.col("answer") == pl.col("verdict"))
    if judged.is_empty():
        raise InputError("no answer is for a response that the judge has labelled, so there is nothing to compare yet")
    # The responses by people's answer; `same` says whether the judge's verdict agrees.
    called_correct = judged.filter(answer="correct")
    called_incorrect = judged.filter(answer="incorrect")
    # The judge has no verdict on these: `same` are those that people call correct.
    nulls = decided.filter(verdict="null").with_columns(same=pl.col("answer") == "correct")
    labelled = strata.filter(pl.col("verdict").is_in(_VERDICTS))
    covered = _sum_series(labelled.join(judged, on=STRATUM, how="semi")["n"]) / _sum_series(labelled["n"])
    return Audit(
        about=SampleOrigin(
            study=provenance["study"], judge=provenance["judge"], size=provenance["size"], seed=provenance["seed"]
        ),
        counts={label: labels.count(label) for label in LABELS} | {"not_answered": labels.count(None)},
        covered=covered,
        agreement=pl.DataFrame(list(_list_agreement_rows(judged, strata)), infer_schema_length=None),
        kappa=_estimate_kappa(judged),
        sensitivity=_estimate_share(called_correct),
        specificity=_estimate_share(called_incorrect),
        correct_among_nulls=_estimate_share(nulls),
        domains=pl.DataFrame(
            list(_list_domain_rows(labelled, called_correct, called_incorrect)), infer_schema_length=None
        ),
    )


def _estimate_share(rows: pl.DataFrame) -> Interval:
    """The weighted share of rows where people and judge agree (column `same`)."""
    size = weighted_sample_size(rows["weight"])  # the effective number of answers, which need not be whole
    if not size:
        return wilson_interval(0, 0)
    return wilson_interval(_compute_weighted_share(rows) * size, size)


def _compute_weighted_share(rows: pl.DataFrame) -> float:
    """The sum of the weights of rows with `same`, divided by the sum of all weights."""
    return _sum_series(rows.filter("same")["weight"]) / _sum_series(rows["weight"])


def _sum_series(numbers: pl.Series) -> float:
    return float(numbers.to_frame().sum().item())


def _estimate_kappa(judged: pl.DataFrame) -> Interval:
    """Cohen's kappa of people and judge, from weights that are scaled to their effective number of answers."""
    scale = weighted_sample_size(judged["weight"]) / _sum_series(judged["weight"])

    def count_answers(verdict: str) -> list[float]:
        """The scaled numbers of people's answers, correct and incorrect, for a verdict of the judge."""
        rows = judged.filter(verdict=verdict)
        return [_sum_series(rows.filter(answer=answer)["weight"]) * scale for answer in _VERDICTS]

    return cohen_kappa([count_answers(verdict) for verdict in _VERDICTS])


def _list_agreement_rows(judged: pl.DataFrame, strata: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row for all, for each verdict, model and benchmark, and for every stratum, also without answers.

    Only the rows of strata have `n_responses`.
    """
    yield _make_agreement_row("all", judged, {})
    for name in ("verdict", "model", "benchmark"):
        for (value,), part in judged.sort(name).group_by(name, maintain_order=True):
            yield _make_agreement_row(name, part, {name: value})
    for stratum in strata.filter(pl.col("verdict").is_in(_VERDICTS)).sort(STRATUM).iter_rows(named=True):
        stratum_key = {name: stratum[name] for name in STRATUM}
        yield _make_agreement_row("stratum", judged.filter(**stratum_key), stratum_key) | {"n_responses": stratum["n"]}


def _make_agreement_row(by: str, rows: pl.DataFrame, key: dict[str, str]) -> dict[str, Any]:
    """How far people and judge agree in `rows`, a part of the answers.

    `by` is what the part shares ("all", "model", "stratum", ...), `key` the values that it shares, by column. A column
    of STRATUM that is not in `key` is null, and so is `n_responses`, which the caller sets for a stratum.
    """
    share = _estimate_share(rows)
    return {
        "by": by,
        **{name: key.get(name) for name in STRATUM},
        "n_responses": None,
        "n_answers": len(rows),
        "n_same": int(rows["same"].sum()),
        "agreement": share.estimate,
        "lower": share.lower,
        "upper": share.upper,
    }


def _list_domain_rows(
    labelled: pl.DataFrame, called_correct: pl.DataFrame, called_incorrect: pl.DataFrame
) -> Iterator[dict[str, Any]]:
    """Yield each domain's accuracy by the judge's labels, and corrected for the judge's error rates.

    These rates are assumed to be the same in all domains. `labelled` are the strata of the judge's labels,
    `called_correct` and `called_incorrect` the audited responses that people call correct and incorrect.
    """
    # Each as its counts: the judge agrees with people on so many of so many responses.
    sensitivity = _count_agreements(called_correct)
    specificity = _count_agreements(called_incorrect)
    domains = labelled.sort("model", "benchmark").group_by("model", "benchmark", maintain_order=True)
    for (model, benchmark), part in domains:
        n = int(part["n"].sum())
        n_correct = int(part.filter(verdict="correct")["n"].sum())
        share = corrected_share(n_correct, n, sensitivity=sensitivity, specificity=specificity)
        yield {
            "model": model,
            "benchmark": benchmark,
            "n_labelled": n,
            "accuracy": n_correct / n,
            "corrected": share.estimate,
            "lower": share.lower,
            "upper": share.upper,
            "reason": share.reason,
        }


def _count_agreements(rows: pl.DataFrame) -> tuple[float, float]:
    """The effective numbers of rows where people and judge agree (column `same`), and of all rows."""
    size = weighted_sample_size(rows["weight"])
    return (_compute_weighted_share(rows) * size if size else 0.0), size


def write_audit(figures: Audit, folder: Path) -> list[Path]:
    """Write `agreement.csv`, `domains.csv` and `report.json`, which has everything; give their paths."""
    rates = {name: getattr(figures, name)._asdict() for name in _RATES}
    content = {
        "about": figures.about,
        "answers": figures.counts,
        "covered": figures.covered,
        **rates,
        "agreement": figures.agreement.to_dicts(),
        "domains": figures.domains.to_dicts(),
    }
    agreement, domains, report = folder / "agreement.csv", folder / "domains.csv", folder / "report.json"
    write_table(figures.agreement, agreement)
    write_table(figures.domains, domains)
    write_whole(report, json.dumps(content, indent=2) + "\n")
    return [agreement, domains, report]


def describe_audit(figures: Audit) -> list[Part]:
    """The lines and tables for the terminal."""
    counts = ", ".join(f"{count} {label.replace('_', ' ')}" for label, count in figures.counts.items())
    # The first row is over all answers.
    total, *rows = figures.agreement.filter(pl.col("by") != "stratum").rows(named=True)
    rates = [["agreement with the judge", *_format_numbers(total, "agreement", "lower", "upper")]]
    undefined = []
    for name, text in _RATES.items():
        rate = getattr(figures, name)
        rates.append([text, *_format_numbers(rate._asdict(), "estimate", "lower", "upper")])
        if rate.reason:
            undefined.append(f"{text}: {rate.reason}.")
    agreement = []
    for row in rows:
        # Such as `model llama`: `by` is the column that the row is for.
        cells = [f"{row['by']} {row[row['by']]}", str(row["n_answers"]), str(row["n_same"])]
        agreement.append(cells + _format_numbers(row, "agreement", "lower", "upper"))
    domains = []
    for row in figures.domains.iter_rows(named=True):
        cells = [f"{row['model']}, {row['benchmark']}", str(row["n_labelled"])]
        domains.append(cells + _format_numbers(row, "accuracy", "corrected", "lower", "upper"))
    uncorrected = figures.domains["reason"].drop_nulls().unique().sort()
    return [
        f"Audit of judge '{figures.about['judge']}' in study '{figures.about['study']}': {counts}.",
        f"Weighted shares with 95 % intervals, over the strata with an answer: {figures.covered:.1%} of the judge's "
        "labels.",
        format_terminal_table(("share of responses", "estimate", "from", "to"), rates),
        *undefined,
        format_terminal_table(("agreement by", "answers", "the same", "estimate", "from", "to"), agreement),
        "Accuracy of each domain by the judge's labels, and corrected for its errors (Rogan and Gladen; Lang and "
        "Reiczigel). The correction assumes that errors are equally frequent in all domains:",
        format_terminal_table(("model, domain", "labels", "accuracy", "corrected", "from", "to"), domains),
        *[f"Not corrected: {reason}." for reason in uncorrected],
    ]


def _format_numbers(row: dict[str, Any], *names: str) -> list[str]:
    return [format_number(row[name]) for name in names]
