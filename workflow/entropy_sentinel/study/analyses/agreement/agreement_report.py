"""The page of this analysis, and its lines for the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.exhibit_files import save_report
from entropy_sentinel.rendering.plain_text import format_text_table, indent_lines
from entropy_sentinel.study.analyses.agreement.measuring.agreement_frames import ERRORS, PAIRS
from entropy_sentinel.study.analyses.display_names import ExhibitSettings, Groups, find_training_group

_HEADINGS = ("model", "judge", "domains", "AEE", "best estimator", "its AEE")


class AgreementReportSettings(ExhibitSettings):
    """Settings of the page, including the judge of each benchmark that has its own."""

    own_judges: Mapping[str, str]


def write_report(
    pairs: str, errors: str, tables: Sequence[str], settings: AgreementReportSettings, page: str, summary: str
) -> None:
    """Write the page and the summary, from the files `pairs` (PAIRS) and `errors` (ERRORS)."""
    pair_rows = PAIRS.read(pairs)
    error_rows = ERRORS.read(errors)
    lines = describe_own_judges(settings["own_judges"])
    text = write_summary(pair_rows, error_rows, settings["groups"], settings["headline_group"])
    text += "".join(f"\n{line}\n" for line in lines)
    group = find_training_group(settings["groups"], settings["headline_group"])
    save_report(
        __file__,
        page,
        summary,
        text=text,
        title="Agreement of judges",
        label=settings["label"],
        tables=tables,
        sentences=[*describe_pairs(pair_rows), *lines],
        group=group,
        headings=_HEADINGS,
        rows=list_error_rows(error_rows, group.group_id),
    )


def write_summary(pairs: pl.DataFrame, errors: pl.DataFrame, groups: Groups, headline_group: str) -> str:
    """The summary as text: agreement of every two judges, and errors of estimates under each judge's labels.

    `pairs` is a frame PAIRS, `errors` a frame ERRORS; the errors are those of the group that `headline_group` names.
    """
    group = find_training_group(groups, headline_group)
    rows = list_error_rows(errors, group.group_id)
    parts = [
        indent_lines("Agreement of judges", describe_pairs(pairs)),
        indent_lines(
            f"Errors under each judge's labels, unseen domains, trained on {group.benchmarks} ({group.title})",
            format_text_table(_HEADINGS, rows, "llrrlr"),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def describe_own_judges(judges: Mapping[str, str]) -> list[str]:
    """One sentence for every benchmark that has its own judge, so that no other labels it; `judges` by benchmark."""
    lines = []
    for benchmark, judge in judges.items():
        lines.append(f"{benchmark} is not compared, because only its own judge, {judge}, labels it.")
    return lines


def describe_pairs(pairs: pl.DataFrame) -> list[str]:
    """One sentence for every two judges, over all models and domains; `pairs` is a frame PAIRS."""
    overall = pairs.filter(pl.col("model").is_null(), pl.col("benchmark").is_null())
    return [_describe_pair(row) for row in overall.iter_rows(named=True)]


def _describe_pair(row: Mapping[str, Any]) -> str:
    """How much two judges agree, and how many responses only one or none of them labelled; a row of PAIRS."""
    names = f"{row['first']} and {row['second']}"
    nulls = (
        f"of {row['n_responses']} responses {row['n_second_null']} were labelled only by {row['first']}, "
        f"{row['n_first_null']} only by {row['second']}, {row['n_both_null']} by neither"
    )
    if not row["n_pairs"]:
        return f"{names}: no response has a label from both; {nulls}."
    same = row["n_both_correct"] + row["n_both_incorrect"]
    agreement = f"agree on {same} of {row['n_pairs']}, {_format_with_interval(row, 'agreement')}"
    kappa = f"kappa {_format_with_interval(row, 'kappa')}"
    return f"{names}: {agreement}; {kappa}; {nulls}."


def _format_with_interval(row: Mapping[str, Any], name: str) -> str:
    """`0.970 (0.944 to 0.984)`, or the value with the reason if there is no interval."""
    lower, upper = row[f"{name}_lower"], row[f"{name}_upper"]
    interval = row["reason"] if lower is None else f"{format_number(lower)} to {format_number(upper)}"
    return f"{format_number(row[name])} ({interval})"


def list_error_rows(errors: pl.DataFrame, group: str) -> Sequence[Sequence[str]]:
    """The cells under `_HEADINGS` for the training group with the id `group`; `errors` is a frame ERRORS."""
    cells = []
    for row in errors.filter(pl.col("group") == group).sort("model", maintain_order=True).iter_rows(named=True):
        best = "-" if row["best"] is None else estimator_title(row["best"])
        domains = str(row["n_domains"])
        cells.append(
            (row["model"], row["judge"], domains, format_number(row["aee"]), best, format_number(row["best_aee"]))
        )
    return cells
