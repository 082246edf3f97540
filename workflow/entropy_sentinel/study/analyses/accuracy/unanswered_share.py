"""Responses without a final answer: how many, how they are labelled, and what the accuracy would be otherwise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from entropy_sentinel.formatting.text_format import format_number


@dataclass(frozen=True)
class UnansweredDomain:
    """One domain of one model with `n_unanswered` of its `n` responses without a final answer.

    `setting` is the judge's setting `unanswered`: whether such responses are `incorrect` or `unlabelled`.
    `if_incorrect` and `if_unlabelled` are the accuracy with either setting; null without a label.
    """

    model: str
    benchmark: str
    n: int
    n_unanswered: int
    setting: str
    if_incorrect: float | None
    if_unlabelled: float | None


def list_unanswered_domains(domains: pl.DataFrame) -> Iterator[UnansweredDomain]:
    """Yield the domains of a frame DOMAINS that have responses without a final answer."""
    for row in domains.filter(pl.col("n_unanswered") > 0).iter_rows(named=True):
        n_correct, n_incorrect = row["n_correct"], row["n_incorrect"]
        n_counted = row["n_unanswered_incorrect"]  # those that are already part of n_incorrect
        yield UnansweredDomain(
            row["model"],
            row["benchmark"],
            n=row["n_responses"],
            n_unanswered=row["n_unanswered"],
            setting="incorrect" if n_counted else "unlabelled",
            if_incorrect=_compute_share(n_correct, n_incorrect + row["n_unanswered"] - n_counted),
            if_unlabelled=_compute_share(n_correct, n_incorrect - n_counted),
        )


def _compute_share(n_correct: int, n_incorrect: int) -> float | None:
    """The share of correct ones; None without any."""
    return n_correct / (n_correct + n_incorrect) if n_correct + n_incorrect else None


def summarise_unanswered(domains: Sequence[UnansweredDomain]) -> list[str]:
    """A sentence on the domains of each setting that occurs, with the largest difference of an accuracy."""
    sentences = []
    for setting in ("unlabelled", "incorrect"):
        matching_domains = [domain for domain in domains if domain.setting == setting]
        if matching_domains:
            sentences.append(_write_sentence(setting, matching_domains))
    return sentences


def _write_sentence(setting: str, domains: Sequence[UnansweredDomain]) -> str:
    """How responses without a final answer count in these domains, and how accuracies would change otherwise."""
    count = sum(domain.n_unanswered for domain in domains)
    effect = {
        "unlabelled": "have no label and are in no accuracy (unanswered: unlabelled); as incorrect",
        "incorrect": "count as incorrect (unanswered: incorrect); without them",
    }[setting]
    text = f"Responses without a final answer: {count:,} in {len(domains)} domains {effect}, accuracies would be "
    text += "lower" if setting == "unlabelled" else "higher"
    gaps = [
        (domain.if_unlabelled - domain.if_incorrect, f"{domain.model}, {domain.benchmark}")
        for domain in domains
        if domain.if_unlabelled is not None and domain.if_incorrect is not None
    ]
    if not gaps:
        return f"{text}."
    largest, where = max(gaps)
    return f"{text} by up to {format_number(largest)} ({where})."
