"""Single responses of a study, read from its files: of the traces, which are large, only the rows that are wanted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.analyses.responses.token_texts import TokenTexts
from entropy_sentinel.features.tokens import ZERO_PROBABILITY
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.contract import read_provenance, readable
from entropy_sentinel.frames.estimator import SCORES
from entropy_sentinel.frames.generation import scan_traces
from entropy_sentinel.frames.label import LABELS

# A response by its item and its number among those to the same item.
Which = tuple[str, int]


@dataclass(frozen=True)
class Token:
    """A generated token: position from 1, text where it is known, log-probability and entropy in nats.

    `alternatives` are the most likely tokens of the step: text where it is known, and probability.
    """

    position: int
    text: str | None
    logprob: float
    entropy: float
    alternatives: tuple[tuple[str | None, float], ...]

    @property
    def surprise(self) -> float:
        """-log p in nats."""
        return -self.logprob

    @property
    def probability(self) -> float:
        """Of the sampled token."""
        return float(np.exp(self.logprob))


@dataclass(frozen=True)
class Response:
    """A response with all that is known about it; `tokens` are those to be shown, with `left_out` in the middle."""

    item_id: str
    sample: int
    question: str
    reference: str | None
    text: str
    n_tokens: int
    finish_reason: str
    label: bool | None
    label_reason: str | None
    answer: str | None
    p_correct: float | None
    tokens: tuple[Token, ...]

    @property
    def left_out(self) -> int:
        """Tokens between the first and the last ones that are shown."""
        return self.n_tokens - len(self.tokens)

    @property
    def verdict(self) -> str:
        """What the judge says, with the reason where it says nothing."""
        if self.label is None:
            return f"no label ({self.label_reason or 'not judged'})"
        return "correct" if self.label else "incorrect"


@dataclass(frozen=True)
class ResponseFiles:
    """The files of one model and benchmark. Labels and scores may be missing, or not be there yet."""

    benchmark: str | Path
    generations: str | Path
    labels: str | Path | None = None
    scores: str | Path | None = None


def read_responses(
    files: ResponseFiles, wanted: Iterable[Which], estimator: str | None, most_tokens: int, alternatives: int
) -> list[Response]:
    """The responses `wanted`, in that order, those that are not there left out.

    P(correct) is that of `estimator` (`estimator_of`). Raises DamagedFileError and ContractError, as contracts do.
    """
    wanted = list(wanted)
    ids = pl.Series([item for item, _ in wanted], dtype=pl.String).unique().implode()
    with readable(files.generations, "generations"):
        traces = scan_traces(files.generations).filter(pl.col("item_id").is_in(ids)).collect()
    found = {(row["item_id"], row["sample"]): row for row in traces.iter_rows(named=True)}
    items = {row["item_id"]: row for row in BENCHMARKS.read(files.benchmark).iter_rows(named=True)}
    labels = _rows(LABELS.read(files.labels)) if files.labels else {}
    scores = _rows(SCORES.read(files.scores).filter(pl.col("estimator") == estimator)) if files.scores else {}
    texts = TokenTexts(read_provenance(files.generations))
    responses = []
    for which in wanted:
        if which not in found:
            continue
        row, item, label = found[which], items.get(which[0], {}), labels.get(which, {})
        response = Response(
            *which,
            question=item.get("question", ""),
            reference=item.get("reference"),
            text=row["text"],
            n_tokens=row["n_tokens"],
            finish_reason=row["finish_reason"],
            label=label.get("label"),
            label_reason=label.get("reason"),
            answer=label.get("answer"),
            p_correct=scores.get(which, {}).get("p"),
            tokens=tuple(read_tokens(row, texts, most_tokens, alternatives)),
        )
        responses.append(response)
    return responses


def _rows(frame: pl.DataFrame) -> dict[Which, dict[str, Any]]:
    return {(row["item_id"], row["sample"]): row for row in frame.iter_rows(named=True)}


def estimator_of(scores: str | Path | None, preferred: str | None) -> str | None:
    """The estimator that P(correct) is taken from: the preferred one, or the first that the file has; null for none."""
    if scores is None:
        return None
    there = SCORES.read(scores, ["estimator"])["estimator"].unique(maintain_order=True).to_list()
    return preferred if preferred in there else next(iter(there), None)


def read_tokens(row: Mapping[str, Any], texts: TokenTexts, most: int, alternatives: int) -> Iterable[Token]:
    """The tokens of a row of GENERATIONS: the first three quarters of `most` and the last one where it has more."""
    n_tokens = row["n_tokens"]
    shown = range(n_tokens)
    if n_tokens > most:
        shown = [*range(most - most // 4), *range(n_tokens - most // 4, n_tokens)]
    named = texts.of_response(row)
    for place in shown:
        top = np.asarray(row["top_logprobs"][place], dtype=float)  # (k,)
        if row["top_token_ids"] is None:
            names = [None] * len(top)
            # Without their ids, of the likely tokens only that one is known which was sampled.
            for rank in np.flatnonzero(top == row["token_logprobs"][place])[:1]:
                names[rank] = named[place]
        else:
            names = [texts.of_token(one) for one in row["top_token_ids"][place]]
        yield Token(
            place + 1,
            named[place],
            row["token_logprobs"][place],
            entropy(top),
            tuple(
                (name, float(np.exp(logprob)))
                for name, logprob in zip(names[:alternatives], top, strict=False)
                if logprob > ZERO_PROBABILITY
            ),
        )


def entropy(top_logprobs: Sequence[float]) -> float:
    """H(t) in nats over the most likely tokens of a step, truncated and not renormalised (the paper, section 3)."""
    logprobs = np.asarray(top_logprobs, dtype=float)
    possible = logprobs[logprobs > ZERO_PROBABILITY]
    return abs(float(-(np.exp(possible) * possible).sum()))
