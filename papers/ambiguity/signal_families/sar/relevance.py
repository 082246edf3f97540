"""Shifting Attention to Relevance (Duan et al. 2024) of the items of one benchmark, from one model's answers.

Uncertainty weighted by relevance to the meaning, like the class SAR of LM-Polygraph (Vashurin et al. 2025). A
cross-encoder measures the semantic textual similarity of two texts.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.special import expit, logsumexp

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.token_lists import ZERO_PROBABILITY
from entropy_sentinel.schemas.generation_schema import WAS_REFUSED
from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.study.semantic_clustering.backend_interface import read_questions, warn_few_answers
from entropy_sentinel.study.semantic_clustering.backend_settings import WeightsSettings
from entropy_sentinel.study.semantic_clustering.pair_scores import CachedScores, TextPair
from entropy_sentinel.study.semantic_clustering.text_encoders import PairClassifier, Weights, locate_weights


class Similarity:
    """A cross-encoder with one output, whose logistic function is the similarity, as in sentence-transformers."""

    def __init__(self, weights: Weights, batch_size: int) -> None:
        """Load the cross-encoder; raise InputError if the weights are not one."""
        self._classifier, self._weights = PairClassifier(weights.folder, weights.name), weights
        if (n_labels := len(self._classifier.labels)) != 1:
            raise InputError(
                f"{weights.name}: a cross-encoder of similarity must have one output, has {n_labels}: "
                f"{', '.join(self._classifier.labels.values())}; use one that was trained on similarities (STS)"
            )
        self._scores = CachedScores(self._compute_similarity, [weights.revision, "similarity"], batch_size)

    def measure_pairs(self, pairs: Iterable[TextPair]) -> dict[TextPair, float]:
        """The similarity of each distinct pair, in [0, 1]; it depends on the order of the two texts."""
        return self._scores(pairs)

    @property
    def provenance(self) -> dict[str, Any]:
        """The cross-encoder, and the numbers of computed and of known pairs."""
        return {**self._weights.provenance, **self._scores.counts, "cut": self._classifier.n_cut}

    def _compute_similarity(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """The similarity of each pair, (n_pairs,), by the cross-encoder."""
        similarities: np.ndarray = expit(self._classifier.logits(pairs)[:, 0].astype(float))
        return similarities


def load_similarity(settings: WeightsSettings) -> Similarity:
    """The cross-encoder that the settings name."""
    return Similarity(locate_weights(settings), settings["batch_size"])


TEMPERATURE = 0.001


def compute_sar(
    token_logprobs: Sequence[Numbers],
    token_relevance: Sequence[Numbers],
    similarity: np.ndarray,
    temperature: float = TEMPERATURE,
) -> float:
    """SAR of the answers to one question, in nats; larger is less certain.

    `token_logprobs` are (n_tokens,) of each of n answers, in nats. `token_relevance` are (n_tokens,) of each: 1 - the
    similarity of the answers with and without the token; if all are 0, all tokens have equal weights. `similarity` is
    (n, n), in [0, 1]: entry i, j is that of answer j to answer i. An answer's probability is its own, plus those of the
    others times their similarity, divided by the temperature.

    Raises ValueError if shapes do not match or an answer has no token.
    """
    similarity_matrix = np.asarray(similarity, dtype=float)
    n = len(token_logprobs)
    if similarity_matrix.shape != (n, n) or len(token_relevance) != n:
        raise ValueError(
            f"similarity must be ({n}, {n}) and token_relevance of {n} answers, got {similarity_matrix.shape} and "
            f"{len(token_relevance)}"
        )
    weighted_logprobs = np.array(list(map(_weigh_logprobs, token_logprobs, token_relevance)))
    weights = np.where(np.eye(n, dtype=bool), 1.0, similarity_matrix / temperature)
    return float(-logsumexp(np.broadcast_to(weighted_logprobs, (n, n)), b=weights, axis=1).mean())


def _weigh_logprobs(logprobs: Numbers, relevance: Numbers) -> float:
    """The mean log-probability of an answer's tokens, weighted by relevance."""
    nats, weights = np.asarray(logprobs, dtype=float), np.asarray(relevance, dtype=float)
    if not len(nats) or len(nats) != len(weights):
        raise ValueError(f"an answer needs tokens, each with a relevance; had {len(nats)} and {len(weights)}")
    return float(np.average(nats, weights=weights if weights.sum() > 0 else None))


log = logging.getLogger(__name__)

# Number of items whose pairs are built at once, because each answer has a text per token.
_ITEMS_AT_ONCE = 8
# The relevance of the only token of an answer, as in LM-Polygraph; any value would do, because it is normalised.
_SINGLE_TOKEN_RELEVANCE = 0.5


@dataclass(frozen=True)
class Answer:
    """An answer with its tokens' log-probabilities and their texts, which add up to the answer.

    A token that is not part of the answer, such as the end token, has no text.
    """

    text: str
    logprobs: Sequence[float]
    pieces: Sequence[str]

    def pair_omissions(self, question: str) -> list[TextPair | None]:
        """For each token the texts with and without it, each after the question; None for a token without text."""
        preceding = ""
        pairs: list[TextPair | None] = []
        for piece in self.pieces:
            following = self.text[len(preceding) + len(piece) :]
            pairs.append((f"{question} {self.text}", f"{question} {preceding}{following}") if piece else None)
            preceding += piece
        return pairs


class _Item(NamedTuple):
    """An item: its id, question and usable answers, and why the first other answer is left out."""

    item_id: str
    question: str
    answers: list[Answer]
    missing_reason: str | None


def compute_item_sar(traces: pl.LazyFrame, benchmark: str, similarity: Similarity, samples: int | None) -> pl.DataFrame:
    """A row per response in `traces`, in order: `sar` of its item, or `sar_reason` if it is null.

    `benchmark` is the file of the items; SAR uses the first `samples` answers to each, None for all.
    """
    columns = ("item_id", "text", "finish_reason", "tokens", "token_logprobs")
    rows = traces.select(columns).collect().with_row_index("row")
    answers = rows.filter(~WAS_REFUSED).with_columns(number=pl.int_range(pl.len()).over("item_id"))
    if samples is not None:
        answers = answers.filter(pl.col("number") < samples)
    items = answers.partition_by("item_id", maintain_order=True)
    warn_few_answers([len(responses) for responses in items])
    questions = read_questions(benchmark)
    values: list[tuple[str, float | None, str | None]] = []
    for start in range(0, len(items), _ITEMS_AT_ONCE):
        part = []
        for responses in items[start : start + _ITEMS_AT_ONCE]:
            name = responses[0, "item_id"]
            part.append(_Item(name, questions[name].text, *_read_answers(responses)))
        values += _measure_items(part, similarity)
    schema = {"item_id": pl.String, "sar": pl.Float64, "sar_reason": pl.String}
    by_item = pl.DataFrame(values, schema=schema, orient="row")
    joined = rows.join(by_item, on="item_id", how="left", maintain_order="left", validate="m:1")
    return joined.select(
        sar=pl.when(~WAS_REFUSED).then("sar"),
        sar_reason=pl.when(WAS_REFUSED).then("finish_reason").otherwise("sar_reason"),
    )


def split_response(text: str, tokens: Sequence[str]) -> list[str] | None:
    """The part of each token's text that is in the response `text`; None if these parts do not add up to it.

    The end token, a stop string, and space before the response are not part of it.
    """
    whole = "".join(tokens)
    start = whole.find(text)
    if start < 0:
        return None
    ends = np.cumsum([len(token) for token in tokens])
    cuts = np.clip([0, *ends], start, start + len(text))
    return [whole[first:last] for first, last in zip(cuts[:-1], cuts[1:], strict=True)]


def _read_answers(item: pl.DataFrame) -> tuple[list[Answer], str | None]:
    """The answers to an item with log-probabilities and texts of all tokens, and why the first other is left out."""
    answers: list[Answer] = []
    reasons: list[str] = []
    for text, tokens, logprobs in item.select("text", "tokens", "token_logprobs").iter_rows():
        pieces = split_response(text, tokens or [])
        if logprobs is None or min(logprobs, default=0.0) <= ZERO_PROBABILITY:
            reasons.append("log-probabilities are not known")
        elif tokens is None:
            reasons.append("the texts of the tokens are not known")
        elif not tokens:
            reasons.append("no tokens")
        elif pieces is None:
            reasons.append("the texts of the tokens do not make up the response")
        else:
            answers.append(Answer(text, logprobs, pieces))
    return answers, reasons[0] if reasons else None


def _measure_items(items: Sequence[_Item], similarity: Similarity) -> list[tuple[str, float | None, str | None]]:
    """For each item its id, its SAR (or None), and the reason why it has none (or None)."""
    pairs: list[TextPair] = []
    for item in items:
        if len(item.answers) > 1:
            pairs += _list_pairs(item)
    scores = similarity.measure_pairs(pairs)
    values: list[tuple[str, float | None, str | None]] = []
    for item in items:
        if len(item.answers) > 1:
            values.append((item.item_id, _compute_item_score(item, scores), None))
        else:
            detail = f"; {item.missing_reason}" if item.missing_reason else ""
            reason = f"the item has {len(item.answers)} usable answers, needs at least 2{detail}"
            values.append((item.item_id, None, reason))
    return values


def _list_pairs(item: _Item) -> list[TextPair]:
    """The pairs of texts whose similarities SAR needs: of the answers, and of each with and without a token."""
    texts = dict.fromkeys(answer.text for answer in item.answers)
    pairs: list[TextPair] = list(product(texts, texts))
    for answer in item.answers:
        if len(answer.pieces) > 1:
            pairs += filter(None, answer.pair_omissions(item.question))
    return pairs


def _compute_item_score(item: _Item, scores: Mapping[TextPair, float]) -> float:
    """SAR of an item; `scores` are the similarities of the pairs of texts of `_list_pairs`.

    A token is as relevant as the answer without it is unlike the answer with it.
    """
    relevance, similarity = [], []
    for answer in item.answers:
        token_relevance = [_SINGLE_TOKEN_RELEVANCE]
        if len(answer.pieces) > 1:
            token_relevance = [1 - scores[pair] if pair else 0.0 for pair in answer.pair_omissions(item.question)]
        relevance.append(token_relevance)
        similarity.append([scores[answer.text, second.text] for second in item.answers])
    return compute_sar([answer.logprobs for answer in item.answers], relevance, np.array(similarity))
