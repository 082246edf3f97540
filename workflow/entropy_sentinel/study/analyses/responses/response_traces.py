"""Single responses of a study with their tokens and trajectories, and the choice of those that are shown."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.hub.token_texts import TokenTexts
from entropy_sentinel.rendering.token_colours import Token, read_tokens
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import check_readable, read_provenance
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.schemas.generation_schema import scan_traces
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.schemas.response_schema import RESPONSE, SAMPLE
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS

# The picture's units: the least number of bits at its top, its height, and the largest number of points.
_BITS, HEIGHT, _MOST_POINTS = 1.0, 60.0, 800
# Characters of an answer that are shown.
_LONGEST = 60
_ANSWER_NAMES = {"own": "its own answer", "reference": "the reference", "none": "no answer"}


@dataclass(frozen=True)
class EntropyCurve:
    """The entropy H(t) in bits at `positions` t of the T - 1 tokens before the answer's last one.

    `eas` is the area under the curve, `tokens_to_answer` is T. `answer` is the inserted answer, a key of _ANSWER_NAMES.
    """

    answer: str
    text: str | None
    eas: float
    tokens_to_answer: int
    positions: tuple[int, ...]
    entropies: tuple[float, ...]

    @property
    def kind(self) -> str:
        """The kind of answer, in words."""
        return _ANSWER_NAMES[self.answer] + ("" if self.text is None else f", {self.text[:_LONGEST]!r}")

    @property
    def largest(self) -> float:
        """The largest entropy, bits."""
        return max(self.entropies)

    @property
    def width(self) -> int:
        """The picture's width, from the first position to the last one: a unit for each token."""
        return max(self.tokens_to_answer - 2, 1)

    @property
    def outline(self) -> str:
        """The points of the area under the curve, as SVG has them: from the baseline and back to it."""
        top = max(self.largest, _BITS)
        n_merged = math.ceil(len(self.positions) / _MOST_POINTS)
        points = list(zip(self.positions, self.entropies, strict=True))
        positions = []
        corners = []
        for start in range(0, len(points), n_merged):
            # Neighbours are merged into one point with the largest value, so that no peak is lost.
            t, entropy = max(points[start : start + n_merged], key=itemgetter(1))
            positions.append(t)
            corners.append(f"{t},{HEIGHT * (1 - entropy / top):.1f}")
        # In SVG, y grows downwards, so the baseline is at HEIGHT.
        return " ".join([f"{positions[0]},{HEIGHT:g}", *corners, f"{positions[-1]},{HEIGHT:g}"])


def read_trajectories(path: str | Path | None, items: Iterable[str]) -> dict[tuple[str, int], list[EntropyCurve]]:
    """The curves of responses to `items`, by item and sample, one for each inserted answer; empty without a file.

    `path` is a file FORCED_ANSWERS: an answer was inserted after each token, and its entropy measured.
    """
    if path is None:
        return {}
    columns = [*SAMPLE, "answer", "answer_text", "eas", "tokens_to_answer", "positions", "entropies"]
    rows = FORCED_ANSWERS.read(path, columns).filter(pl.col("item_id").is_in(list(items)), pl.col("eas").is_not_null())
    trajectories: dict[tuple[str, int], list[EntropyCurve]] = {}
    for item, sample, answer, text, eas, length, positions, entropies in rows.iter_rows():
        trajectory = EntropyCurve(answer, text, eas, length, tuple(positions), tuple(entropies))
        trajectories.setdefault((item, sample), []).append(trajectory)
    return trajectories


# A response by its item and its number among those to the same item.
ResponseKey = tuple[str, int]


@dataclass(frozen=True)
class AnnotatedResponse:
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
    trajectories: tuple[EntropyCurve, ...] = ()

    @property
    def left_out(self) -> int:
        """The number of tokens left out between the first and the last ones shown; 0 if there is only text."""
        return self.n_tokens - len(self.tokens) if self.tokens else 0

    @property
    def has_token_texts(self) -> bool:
        """Whether every token has a text."""
        return all(token.text is not None for token in self.tokens)

    @property
    def has_alternative_texts(self) -> bool:
        """Whether every likely token has a text."""
        alternatives = chain.from_iterable(token.alternatives for token in self.tokens)
        return all(text is not None for text, _ in alternatives)

    @property
    def verdict(self) -> str:
        """The judge's verdict, or the reason why it is missing."""
        if self.label is None:
            return f"no label ({self.label_reason or 'not judged'})"
        return "correct" if self.label else "incorrect"


@dataclass(frozen=True)
class ResponseFiles:
    """The files of one model and benchmark. Labels and scores may not exist, or not yet."""

    benchmark: str | Path
    generations: str | Path
    labels: str | Path | None = None
    scores: str | Path | None = None
    # The pass `forced_answer`, if the study runs it.
    asked: str | Path | None = None


def read_responses(
    files: ResponseFiles, wanted: Iterable[ResponseKey], estimator: str | None, most_tokens: int, alternatives: int
) -> list[AnnotatedResponse]:
    """The responses `wanted` that exist, in that order.

    Each has at most `most_tokens` tokens, without those in the middle, and `alternatives` likely tokens for each.
    P(correct) is that of `estimator`. Raises DamagedFileError and ContractError, as contracts do.
    """
    wanted = list(wanted)
    ids = pl.Series([item for item, _ in wanted], dtype=pl.String).unique().implode()
    with check_readable(files.generations, "generations"):
        traces = _index_rows(scan_traces(files.generations).filter(pl.col("item_id").is_in(ids)).collect())
    items = {row["item_id"]: row for row in BENCHMARKS.read(files.benchmark).iter_rows(named=True)}
    labels = _index_rows(LABELS.read(files.labels)) if files.labels else {}
    scores = _index_rows(SCORES.read(files.scores).filter(pl.col("estimator") == estimator)) if files.scores else {}
    texts = TokenTexts(read_provenance(files.generations))
    trajectories = read_trajectories(files.asked, ids.item())
    responses = []
    for response_key in wanted:
        if response_key not in traces:
            continue
        item_id, sample = response_key
        row = traces[response_key]
        item = items.get(item_id, {})
        label = labels.get(response_key, {})
        response = AnnotatedResponse(
            item_id,
            sample,
            question=item.get("question", ""),
            reference=item.get("reference"),
            text=row["text"],
            n_tokens=row["n_tokens"],
            finish_reason=row["finish_reason"],
            label=label.get("label"),
            label_reason=label.get("reason"),
            answer=label.get("answer"),
            p_correct=scores.get(response_key, {}).get("p"),
            tokens=tuple(read_tokens(row, *texts.read_row(row), most_tokens, alternatives)),
            trajectories=tuple(trajectories.get(response_key, ())),
        )
        responses.append(response)
    return responses


def _index_rows(frame: pl.DataFrame) -> dict[ResponseKey, dict[str, Any]]:
    """The rows by the response that they are about."""
    return {(row["item_id"], row["sample"]): row for row in frame.iter_rows(named=True)}


def find_estimator(scores: str | Path | None, preferred: str | None) -> str | None:
    """The estimator whose P(correct) is used: the preferred one if the file has it, else the file's first.

    `scores` is a file SCORES; None without a file or an estimator in it.
    """
    if scores is None:
        return None
    names = SCORES.read(scores, ["estimator"])["estimator"].unique(maintain_order=True).to_list()
    return preferred if preferred in names else next(iter(names), None)


# Kinds of responses: their label (None for any), and whether the most certain come first.
KINDS: dict[str, tuple[bool | None, bool]] = {
    "most certain": (None, True),
    "least certain": (None, False),
    "wrong but certain": (False, True),
    "right but uncertain": (True, False),
}


def choose_responses(observations: pl.DataFrame, scores: pl.DataFrame, per_kind: int) -> dict[ResponseKey, list[str]]:
    """Up to `per_kind` responses of each kind in KINDS, such as "wrong but certain", each with all its kinds.

    They are of one model and benchmark. `observations` are rows of OBSERVATIONS, `scores` rows of SCORES of one
    estimator. Certainty is P(correct); ties, and responses without scores, are ordered by LNTP, the geometric mean of
    the tokens' probabilities. Responses without features are not candidates. If no response has features, for example
    because the engine returns no log-probabilities, the choice depends only on the labels.
    """
    rows = observations.filter(pl.col("feature_reason").is_null())
    if rows.is_empty():
        return _choose_by_label(observations, per_kind)
    rows = rows.join(scores.select(*RESPONSE, "p"), on=RESPONSE, how="left", maintain_order="left")
    chosen: dict[ResponseKey, list[str]] = {}
    for kind, (label, most_certain_first) in KINDS.items():
        candidates = rows if label is None else rows.filter(pl.col("label") == label)
        ordered = candidates.sort(
            "p", "lntp", *SAMPLE, descending=[most_certain_first, most_certain_first, False, False]
        )
        for response_key in ordered.head(per_kind).select(SAMPLE).iter_rows():
            chosen.setdefault(response_key, []).append(kind)
    return chosen


def _choose_by_label(observations: pl.DataFrame, per_kind: int) -> dict[ResponseKey, list[str]]:
    """The first `per_kind` responses of each label; their kind is "right", "wrong" or "no label"."""
    chosen: dict[ResponseKey, list[str]] = {}
    for kind, label in {"right": True, "wrong": False, "no label": None}.items():
        candidates = observations.filter(pl.col("label").eq_missing(label)).sort(SAMPLE)
        for response_key in candidates.head(per_kind).select(SAMPLE).iter_rows():
            chosen[response_key] = [kind]
    return chosen
