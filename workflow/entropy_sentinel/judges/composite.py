"""Judges that combine others: several verdicts become one, with the members that decided it.

A member takes responses (a frame with at least item_id and sample) and returns a frame of contract LABELS with the same
rows in the same order. A combination returns such a frame and the counts per member.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.schemas.label_schema import LABELS, NO_REFERENCE
from entropy_sentinel.schemas.response_schema import SAMPLE

Member = Callable[[pl.DataFrame], pl.DataFrame]
# Per member: the responses that it was asked about, those that it labelled, and those whose final label it shares.
Counts = dict[str, dict[str, int]]
# A row of LABELS: `label`, `reason`, `answer`, `decided_by` and `caution`.
Row = dict[str, Any]


def combine_first(members: Mapping[str, Member], responses: pl.DataFrame) -> tuple[pl.DataFrame, Counts]:
    """The verdict of the first member that has one; each sees only what the members before it left null.

    If all members leave a response null, its reason has all their reasons.
    """
    # For each response: the verdict that decided it, and the null ones before it by member.
    final: list[Row | None] = [None] * len(responses)
    nulls: list[dict[str, Row]] = [{} for _ in final]
    left = list(range(len(final)))  # the places of responses without a verdict
    counts = {}
    for name, member in members.items():
        verdicts = member(responses[left]).rows(named=True) if left else []
        for place, verdict in zip(left, verdicts, strict=True):
            if verdict["label"] is None:
                nulls[place][name] = verdict
            else:
                final[place] = verdict | {"decided_by": name}
        labelled = sum(verdict["label"] is not None for verdict in verdicts)
        counts[name] = {"asked": _count_asked(verdicts), "labelled": labelled, "decided": labelled}
        left = [place for place in left if final[place] is None]
    rows = [verdict or _make_null_verdict(verdicts) for verdict, verdicts in zip(final, nulls, strict=True)]
    return _build_frame(responses, rows), counts


def combine_majority(members: Mapping[str, Member], responses: pl.DataFrame) -> tuple[pl.DataFrame, Counts]:
    """The verdict of more than half of all members; null without such a majority."""
    by_member = {name: member(responses).rows(named=True) for name, member in members.items()}
    rows = []
    for votes in zip(*by_member.values(), strict=True):
        rows.append(_elect_verdict(dict(zip(by_member, votes, strict=True))))
    counts = {}
    for name, verdicts in by_member.items():
        labelled = decided = 0
        for row, verdict in zip(rows, verdicts, strict=True):
            if verdict["label"] is not None:
                labelled += 1
                decided += row["label"] is verdict["label"]
        counts[name] = {"asked": _count_asked(verdicts), "labelled": labelled, "decided": decided}
    return _build_frame(responses, rows), counts


def _count_asked(verdicts: Sequence[Row]) -> int:
    """The number of responses that a judge was asked about: those with a reference."""
    return sum(verdict["reason"] != NO_REFERENCE for verdict in verdicts)


def _elect_verdict(votes: Mapping[str, Row]) -> Row:
    """The verdict of more than half of the members on one response; null without such a majority."""
    labels = [vote["label"] for vote in votes.values()]
    for label in (True, False):
        if 2 * labels.count(label) > len(votes):
            voters = {name: vote for name, vote in votes.items() if vote["label"] is label}
            return {
                "label": label,
                "reason": None,
                "answer": _find_first_value(voters, "answer"),
                "decided_by": ", ".join(voters),
                "caution": _find_first_value(votes, "caution"),
            }
    if labels.count(None) == len(votes):
        return _make_null_verdict(votes)
    counted = ", ".join(f"{labels.count(label)} {word}" for label, word in _WORDS.items())
    return {
        "label": None,
        "reason": f"no majority: {counted}",
        "answer": None,
        "decided_by": None,
        "caution": _find_first_value(votes, "caution"),
    }


_WORDS = {True: "correct", False: "incorrect", None: "null"}


def _make_null_verdict(by_member: Mapping[str, Row]) -> Row:
    """A null verdict with the reasons of the members; a reason that all share appears once."""
    reasons = {verdict["reason"] for verdict in by_member.values()}
    by_name = "; ".join(f"{name}: {verdict['reason']}" for name, verdict in by_member.items())
    return {
        "label": None,
        "reason": reasons.pop() if len(reasons) == 1 else by_name,
        "answer": _find_first_value(by_member, "answer"),
        "decided_by": None,
        "caution": _find_first_value(by_member, "caution"),
    }


def _find_first_value(by_member: Mapping[str, Row], column: str) -> str | None:
    """The members' first value that is not null."""
    return next((verdict[column] for verdict in by_member.values() if verdict[column] is not None), None)


def _build_frame(responses: pl.DataFrame, rows: list[Row]) -> pl.DataFrame:
    """A frame of LABELS with the ids of the responses and a row for each."""
    columns: dict[str, list[Any]] = responses.select(SAMPLE).to_dict(as_series=False)
    for name in ("label", "reason", "answer", "decided_by", "caution"):
        columns[name] = [row[name] for row in rows]
    return LABELS.frame(columns)


# By kind, with the names in judges/judge_kinds.py.
COMBINATIONS: Mapping[str, Callable[[Mapping[str, Member], pl.DataFrame], tuple[pl.DataFrame, Counts]]] = {
    "first_of": combine_first,
    "majority": combine_majority,
}
