"""Results of an audit: agreement of people and judge, error rates, and each domain's accuracy corrected for them.

The sample is stratified, so an answer counts for as many responses as its stratum has per answer. The intervals are
those of a simple sample of the weights' effective size; they do not use the gain from stratification.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.auditing.answers import LABELS, Answers
from entropy_sentinel.auditing.sample import STRATUM, Drawn, Sample
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.printable import number, write_csv
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.report.terminal import Part, table
from entropy_sentinel.statistics.agreement import Interval, corrected_share, effective_size, kappa, wilson

_SAYS = ("correct", "incorrect")
_RATES = {
    "kappa": "Cohen's kappa",
    "sensitivity": "correct responses that the judge calls correct",
    "specificity": "incorrect responses that the judge calls incorrect",
    "correct_among_nulls": "correct among those that the judge left null",
}


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
    labels = [answers.get(response) for response in sample.rows.select(RESPONSE).rows()]
    rows = sample.rows.with_columns(answer=pl.Series(labels, dtype=pl.String))
    strata = pl.DataFrame(about["strata"])
    decided = rows.filter(pl.col("answer").is_in(_SAYS)).join(strata.select(*STRATUM, "n"), on=STRATUM, how="left")
    decided = decided.with_columns(weight=pl.col("n") / pl.len().over(STRATUM))
    judged = decided.filter(pl.col("verdict").is_in(_SAYS)).with_columns(same=pl.col("answer") == pl.col("verdict"))
    if judged.is_empty():
        raise InputError("no answer is on a response that the judge has labelled: nothing to compare yet")
    right, wrong = (judged.filter(answer=says) for says in _SAYS)
    nulls = decided.filter(verdict="null").with_columns(same=pl.col("answer") == "correct")
    labelled = strata.filter(pl.col("verdict").is_in(_SAYS))
    covered = _sum(labelled.join(judged, on=STRATUM, how="semi")["n"]) / _sum(labelled["n"])
    return Audit(
        about=Drawn(study=about["study"], judge=about["judge"], size=about["size"], seed=about["seed"]),
        counts={label: labels.count(label) for label in LABELS} | {"not_answered": labels.count(None)},
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
    cells = [
        [_sum(judged.filter(verdict=verdict, answer=other)["weight"]) * scale for other in _SAYS] for verdict in _SAYS
    ]
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
    share = _share(rows)
    return {
        "by": by,
        **{name: whose.get(name) for name in STRATUM},
        "n_responses": None,
        "n_answers": len(rows),
        "n_same": int(rows["same"].sum()),
        "agreement": share.estimate,
        "lower": share.lower,
        "upper": share.upper,
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
        share = corrected_share(n_correct, n, sensitivity=rates[0], specificity=rates[1])
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


def write_audit(figures: Audit, folder: Path) -> list[Path]:
    """Write `agreement.csv`, `domains.csv` and `report.json`, which has all."""
    whole = {
        "about": figures.about,
        "answers": figures.counts,
        "covered": figures.covered,
        **{name: getattr(figures, name)._asdict() for name in _RATES},
        "agreement": figures.agreement.to_dicts(),
        "domains": figures.domains.to_dicts(),
    }
    writers: dict[str, Callable[[Path], Any]] = {
        "agreement.csv": partial(write_csv, figures.agreement),
        "domains.csv": partial(write_csv, figures.domains),
        "report.json": lambda path: path.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8"),
    }
    for name, write in writers.items():
        with whole_file(folder / name) as unfinished:
            write(unfinished)
    return [folder / name for name in writers]


def parts(figures: Audit) -> list[Part]:
    """Lines and tables for the terminal."""
    counts = ", ".join(f"{count} {label.replace('_', ' ')}" for label, count in figures.counts.items())
    in_all, *others = figures.agreement.filter(pl.col("by") != "stratum").rows(named=True)
    rates = [[text, *_cells(getattr(figures, name))] for name, text in _RATES.items()]
    undefined = {text: getattr(figures, name).reason for name, text in _RATES.items()}
    unknown = figures.domains.filter(pl.col("reason").is_not_null())["reason"].unique().sort()
    return [
        f"Audit of judge '{figures.about['judge']}' in study '{figures.about['study']}': {counts}.",
        f"Shares are over the strata that have an answer, {figures.covered:.1%} of the judge's labels; weighted, with "
        "intervals at 95 %.",
        table(("share of responses", "estimate", "from", "to"), [["agreement with the judge", *_row(in_all)], *rates]),
        *(f"{text}: {reason}." for text, reason in undefined.items() if reason),
        table(
            ("agreement by", "answers", "the same", "estimate", "from", "to"),
            [
                [f"{row['by']} {row[row['by']]}", str(row["n_answers"]), str(row["n_same"]), *_row(row)]
                for row in others
            ],
        ),
        "Accuracy of each domain by the judge's labels, and corrected for its errors (Rogan and Gladen; Lang and "
        "Reiczigel), which are taken to be equally frequent in all domains:",
        table(
            ("model, domain", "labels", "accuracy", "corrected", "from", "to"),
            [
                [
                    f"{row['model']}, {row['benchmark']}",
                    str(row["n_labelled"]),
                    *(number(row[name]) for name in ("accuracy", "corrected", "lower", "upper")),
                ]
                for row in figures.domains.iter_rows(named=True)
            ],
        ),
        *(f"Not corrected: {reason}." for reason in unknown),
    ]


def _row(row: dict[str, Any]) -> list[str]:
    return [number(row[name]) for name in ("agreement", "lower", "upper")]


def _cells(interval: Interval) -> list[str]:
    return [number(interval.estimate), number(interval.lower), number(interval.upper)]
