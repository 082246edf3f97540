"""Single responses of a study, read from its files: of the traces, which are large, only the rows that are wanted."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.analyses.responses.trajectory import Trajectory, read_trajectories
from entropy_sentinel.frames.benchmark import BENCHMARKS
from entropy_sentinel.frames.contract import read_provenance, readable
from entropy_sentinel.frames.estimate import SCORES
from entropy_sentinel.frames.generation import scan_traces
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.report.tokens import Token, TokenTexts, read_tokens

# A response by its item and its number among those to the same item.
Which = tuple[str, int]


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
    trajectories: tuple[Trajectory, ...] = ()

    @property
    def left_out(self) -> int:
        """Tokens between the first and the last ones that are shown; none where there is only text."""
        return self.n_tokens - len(self.tokens) if self.tokens else 0

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
    # The pass `forced_answer`, where the study has it.
    asked: str | Path | None = None


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
    texts, trajectories = TokenTexts(read_provenance(files.generations)), read_trajectories(files.asked, ids.item())
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
            trajectories=tuple(trajectories.get(which, ())),
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
