"""An audit as files, and as lines and tables for the terminal."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.auditing.measuring import Audit
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.numbers import number
from entropy_sentinel.frames.printable import write_csv
from entropy_sentinel.report.terminal import Part, table
from entropy_sentinel.statistics.agreement import Interval

_RATES = {
    "kappa": "Cohen's kappa",
    "sensitivity": "correct responses that the judge calls correct",
    "specificity": "incorrect responses that the judge calls incorrect",
    "correct_among_nulls": "correct among those that the judge left null",
}


def write_audit(found: Audit, folder: Path) -> list[Path]:
    """Write `agreement.csv`, `domains.csv` and `report.json`, which has all."""
    whole = {
        "about": found.about,
        "answers": found.counts,
        "covered": found.covered,
        **{name: getattr(found, name)._asdict() for name in _RATES},
        "agreement": found.agreement.to_dicts(),
        "domains": found.domains.to_dicts(),
    }
    writers: dict[str, Callable[[Path], Any]] = {
        "agreement.csv": partial(write_csv, found.agreement),
        "domains.csv": partial(write_csv, found.domains),
        "report.json": lambda path: path.write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8"),
    }
    for name, write in writers.items():
        with whole_file(folder / name) as unfinished:
            write(unfinished)
    return [folder / name for name in writers]


def parts(found: Audit) -> list[Part]:
    """Lines and tables for the terminal."""
    counts = ", ".join(f"{count} {label.replace('_', ' ')}" for label, count in found.counts.items())
    in_all, *others = found.agreement.filter(pl.col("by") != "stratum").rows(named=True)
    rates = [[text, *_cells(getattr(found, name))] for name, text in _RATES.items()]
    undefined = {text: getattr(found, name).reason for name, text in _RATES.items()}
    unknown = found.domains.filter(pl.col("reason").is_not_null())["reason"].unique().sort()
    return [
        f"Audit of judge '{found.about['judge']}' in study '{found.about['study']}': {counts}.",
        f"Shares are over the strata that have an answer, {found.covered:.1%} of the judge's labels; weighted, with "
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
                for row in found.domains.iter_rows(named=True)
            ],
        ),
        *(f"Not corrected: {reason}." for reason in unknown),
    ]


def _row(row: dict[str, Any]) -> list[str]:
    return [number(row[name]) for name in ("agreement", "lower", "upper")]


def _cells(found: Interval) -> list[str]:
    return [number(found.estimate), number(found.lower), number(found.upper)]
