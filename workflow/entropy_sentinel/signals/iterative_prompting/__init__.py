"""Family `iterative_prompting`: how much the model changes its answer where one of its own answers is in the prompt.

IP, or MI, of Entropy is not enough (2025), Appendix B.2, after Yadkori et al., To Believe or Not to Believe Your LLM
(2024). Of the first K responses to an item the distinct answers are taken. Each is judged by teacher forcing after the
model's own prompt, and after prompt 3 with each of them in it (asking.py); the mutual information of two answers, as
these probabilities have it, bounds the epistemic uncertainty from below (statistics/iterative_prompting.py). A bound is
of the item, so that all responses to it have the same value.
"""

import numpy as np
import polars as pl

from entropy_sentinel.frames.signals import EnginePass, Family, Signal
from entropy_sentinel.signals.iterative_prompting.frame import ITERATIVE_PROMPTS
from entropy_sentinel.signals.iterative_prompting.settings import IterativePrompting
from entropy_sentinel.statistics.iterative_prompting import mutual_information

_IP = (
    "mutual information of two answers, the second with the first in its prompt: a lower bound on the epistemic "
    "uncertainty; the same for all responses to an item"
)

FAMILY = Family(
    "how much an answer in the prompt changes the model's own: it is asked about each pair, on a GPU",
    (Signal("ip", "IP", _IP, "nats"),),
    per_item=True,
    asks=EnginePass(
        ITERATIVE_PROMPTS,
        version=1,
        alike=(("distinct", "conditional_logprobs"),),
        # At most: each of the first responses is judged after each of them, and after the prompt alone.
        contexts_per_token=lambda settings: settings["samples"] + 1,
        first_responses=lambda settings: settings["samples"],
    ),
    settings=IterativePrompting,
)


def compute(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response, in their order: the signal, and `ip_reason` where there is none. `asked` is the pass."""
    rows = ITERATIVE_PROMPTS.read(asked).sort("sample")
    found = {item: _of_item(own) for (item,), own in rows.group_by("item_id", maintain_order=True)}
    values = [found[item] for item in traces.select("item_id").collect()["item_id"]]
    return pl.DataFrame(values, schema={"ip": pl.Float64, "ip_reason": pl.String}, orient="row")


def _of_item(rows: pl.DataFrame) -> tuple[float | None, str | None]:
    """The bound of the responses to one item, or why there is none: the reason of the first response."""
    distinct = rows["distinct"].drop_nulls()
    if not len(distinct):
        return None, rows["reason"][0]
    answers = rows.filter(pl.col("sample").is_in(distinct[0].to_list())).drop_nulls("logprob")
    if len(answers) != len(distinct[0]) or (answers["conditional_logprobs"].list.len() != len(answers)).any():
        return None, "not every answer has its log-probabilities"
    marginal, conditional = answers["logprob"].to_numpy(), np.array(answers["conditional_logprobs"].to_list())
    return mutual_information(_scaled(marginal), _scaled(conditional)), None


def _scaled(logprobs: np.ndarray) -> np.ndarray:
    """Probabilities over the largest of each row, which long answers would all be 0 without: only shares count."""
    scaled: np.ndarray = np.exp(logprobs - logprobs.max(axis=-1, keepdims=True))
    return scaled
