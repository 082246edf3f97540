"""What a person's answers say about a judge: agreement, error rates, and each domain's accuracy corrected for them.

The sample is stratified: an answer counts for as many responses as its stratum has per answer. Shares are weighted so,
and their intervals are those of a sample of the weights' effective size, which leaves out what the strata gain.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from entropy_sentinel.auditing.answers import LABELS, Answers
from entropy_sentinel.auditing.sample import STRATUM, Drawn, Sample
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.statistics.agreement import Interval, corrected_share, effective_size, kappa, wilson

_SAYS = ("correct", "incorrect")


@dataclass(frozen=True)
class Audit:
    """The figures of an audit.

    `agreement` has a row for all, per verdict, model and benchmark, and per stratum; `domains` one per model and
    benchmark. `counts` are answers by kind; `covered` is the share of the judge's labels that stand in a stratum with
    an answer, which all shares are over.
    """

    about: Drawn
    counts: dict[str, int]
    covered: float
    agreement: pl.DataFrame
    kappa: Interval
    sensitivity: Interval
    specificity: Interval
    correct_among_nulls: Interval
    domains: pl.DataFrame


def audit(sample: Sample, answers: Answers) -> Audit:
    """The figures of `answers` to a sample. Raises InputError where there is none that says correct or incorrect."""
    about = sample.about
    said = [answers.get(response) for response in sample.rows.select(RESPONSE).rows()]
    rows = sample.rows.with_columns(answer=pl.Series(said, dtype=pl.String))
    strata = pl.DataFrame(about["strata"])
    decided = rows.filter(pl.col("answer").is_in(_SAYS)).join(strata.select(*STRATUM, "n"), on=STRATUM, how="left")
    decided = decided.with_columns(weight=pl.col("n") / pl.len().over(STRATUM))
    judged = decided.filter(pl.col("verdict").is_in(_SAYS)).with_columns(same=pl.col("answer") == pl.col("verdict"))
    if judged.is_empty():
        raise InputError("no answer is on a response that the judge has labelled: nothing to compare yet")
    right, wrong = (judged.filter(answer=one) for one in _SAYS)
    nulls = decided.filter(verdict="null").with_columns(same=pl.col("answer") == "correct")
    labelled = strata.filter(pl.col("verdict").is_in(_SAYS))
    covered = _sum(labelled.join(judged, on=STRATUM, how="semi")["n"]) / _sum(labelled["n"])
    return Audit(
        about=Drawn(study=about["study"], judge=about["judge"], size=about["size"], seed=about["seed"]),
        counts={label: said.count(label) for label in LABELS} | {"not_answered": said.count(None)},
        covered=covered,
        agreement=pl.DataFrame(list(_agreement_rows(judged, strata)), infer_schema_length=None),
        kappa=_kappa(judged),
        sensitivity=_share(right),
        specificity=_share(wrong),
        correct_among_nulls=_share(nulls),
        domains=pl.DataFrame(list(_domain_rows(labelled, right, wrong)), infer_schema_length=None),
    )


def _share(rows: pl.DataFrame) -> Interval:
    """The weighted share of rows that are the `same`."""
    size = effective_size(rows["weight"])
    return wilson(_weighted(rows) * size, size) if size else wilson(0, 0)


def _weighted(rows: pl.DataFrame) -> float:
    return _sum(rows.filter("same")["weight"]) / _sum(rows["weight"])


def _sum(numbers: pl.Series) -> float:
    return float(numbers.to_frame().sum().item())


def _kappa(judged: pl.DataFrame) -> Interval:
    scale = effective_size(judged["weight"]) / _sum(judged["weight"])
    cells = [[_sum(judged.filter(verdict=one, answer=other)["weight"]) * scale for other in _SAYS] for one in _SAYS]
    return kappa(cells)


def _agreement_rows(judged: pl.DataFrame, strata: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """All, then per verdict, model and benchmark, then every stratum, those without an answer too."""
    yield _agreement_row("all", judged, {})
    for name in ("verdict", "model", "benchmark"):
        for (value,), part in judged.sort(name).group_by(name, maintain_order=True):
            yield _agreement_row(name, part, {name: value})
    for stratum in strata.filter(pl.col("verdict").is_in(_SAYS)).sort(STRATUM).iter_rows(named=True):
        whose = {name: stratum[name] for name in STRATUM}
        yield _agreement_row("stratum", judged.filter(**whose), whose) | {"n_responses": stratum["n"]}


def _agreement_row(by: str, rows: pl.DataFrame, whose: dict[str, str]) -> dict[str, Any]:
    found = _share(rows)
    return {
        "by": by,
        **{name: whose.get(name) for name in STRATUM},
        "n_responses": None,
        "n_answers": len(rows),
        "n_same": int(rows["same"].sum()),
        "agreement": found.estimate,
        "lower": found.lower,
        "upper": found.upper,
    }


def _domain_rows(labelled: pl.DataFrame, right: pl.DataFrame, wrong: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Accuracy by the judge's labels, and corrected by its error rates, which are taken to be the same everywhere."""
    rates = []
    for rows in (right, wrong):
        size = effective_size(rows["weight"])
        rates.append((_weighted(rows) * size if size else 0.0, size))
    for (model, benchmark), part in labelled.sort("model", "benchmark").group_by(
        "model", "benchmark", maintain_order=True
    ):
        n, n_correct = int(part["n"].sum()), int(part.filter(verdict="correct")["n"].sum())
        found = corrected_share(n_correct, n, sensitivity=rates[0], specificity=rates[1])
        yield {
            "model": model,
            "benchmark": benchmark,
            "n_labelled": n,
            "accuracy": n_correct / n,
            "corrected": found.estimate,
            "lower": found.lower,
            "upper": found.upper,
            "reason": found.reason,
        }
