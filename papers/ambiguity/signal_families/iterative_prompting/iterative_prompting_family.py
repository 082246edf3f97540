"""Family `iterative_prompting`: how much the model changes its answer if one of its own answers is in the prompt.

IP, or MI, of Entropy is not enough (2025), Appendix B.2, after Abbasi Yadkori et al., To Believe or Not to Believe Your
LLM (2024), Algorithm 3 for pairs of answers. It uses the distinct answers among the first K responses to an item. The
probability of each is measured by teacher forcing after the model's own prompt, and after prompt 3 with each answer in
it (asking). The mutual information of two answers with these probabilities is a lower bound of the epistemic
uncertainty. There is one bound per item, so all responses to it have the same value.
"""

from types import ModuleType
from typing import Annotated

import numpy as np
import polars as pl
from pydantic import AfterValidator, Field

from entropy_sentinel.core.section_base import Settings, Text, Whole
from entropy_sentinel.schemas.signal_schema import EnginePass, Family, Signal
from entropy_sentinel.statistics.array_types import Numbers
from papers.ambiguity.signal_families.iterative_prompting.iterative_prompting_frames import ITERATIVE_PROMPTS


def _check_placeholders(prompt: str) -> str:
    """The prompt itself; raises ValueError if a placeholder is missing."""
    for name in ("question", "answer"):
        if f"{{{name}}}" not in prompt:
            raise ValueError(f"must contain the placeholder {{{name}}}")
    return prompt


class IterativePrompting(Settings):
    """Iterative prompting: whether the model still gives the same answers if one of them is in its prompt."""

    samples: Annotated[Whole, Field(ge=2, le=2**16)] = Field(
        10,
        description="number of first responses to an item that are inserted and scored, each distinct answer "
        "once; an item with fewer has no score. The pass asks about every pair of them",
    )
    prompt: Annotated[Text, AfterValidator(_check_placeholders)] = Field(
        "A possible answer to the question {question} is {answer}.\nQ: {question}?\nA:",
        description="the prompt with an answer. It replaces the message with the question, or plain text's last "
        "paragraph, so that examples stay before it. The mark at the end of a question or an answer is not "
        "doubled",
    )


# As in Tomov et al., Entropy Is Not Enough (2025), Appendix B.2; practically the 0 of the source's experiments.
GAMMA = 1e-9


def mutual_information(
    marginal: Numbers, conditional: np.ndarray, gamma_1: float = GAMMA, gamma_2: float = GAMMA
) -> float:
    """A lower bound of the epistemic uncertainty, in nats: the mutual information of an answer and the next.

    `marginal` is (n_answers,), the probability of each distinct answer; `conditional` is (n_answers, n_answers), in row
    i the probability of each answer if answer i is in the prompt. Both are normalised here, `conditional` by row, so a
    common factor does not matter; subtract the largest log-probability to avoid underflow. With mu(i, j) of the pairs
    and mu'(i, j) the product of their margins, the bound is the sum of mu log((mu + gamma_1) / (mu' + gamma_2)). It is
    0 for a single answer.

    Raises ValueError if shapes do not match, or all probabilities of a row are 0.
    """
    marginal_p, conditional_p = np.asarray(marginal, dtype=float), np.asarray(conditional, dtype=float)
    n = len(marginal_p)
    if conditional_p.shape != (n, n):
        raise ValueError(f"conditional must be ({n}, {n}) for {n} answers, got {conditional_p.shape}")
    if not (marginal_p.sum() > 0 and (conditional_p.sum(axis=1) > 0).all()):
        raise ValueError("marginal and each row of conditional must have a probability above 0; one is all 0")
    mu = (marginal_p / marginal_p.sum())[:, None] * (conditional_p / conditional_p.sum(axis=1, keepdims=True))
    mu_prime = mu.sum(axis=1, keepdims=True) * mu.sum(axis=0)
    positive = mu > 0
    return float((mu[positive] * np.log((mu[positive] + gamma_1) / (mu_prime[positive] + gamma_2))).sum())


_IP = (
    "mutual information of two answers, the second with the first in its prompt: a lower bound on the epistemic "
    "uncertainty; the same for all responses to an item"
)


def compute(traces: pl.LazyFrame, asked: str) -> pl.DataFrame:
    """A row per response in `traces`, in order: `ip`, or `ip_reason` if null; `asked` is a file ITERATIVE_PROMPTS."""
    rows = ITERATIVE_PROMPTS.read(asked).sort("sample")
    bounds = {item: _bound_item(item_rows) for (item,), item_rows in rows.group_by("item_id", maintain_order=True)}
    values = [bounds[item] for item in traces.select("item_id").collect()["item_id"]]
    return pl.DataFrame(values, schema={"ip": pl.Float64, "ip_reason": pl.String}, orient="row")


def _bound_item(rows: pl.DataFrame) -> tuple[float | None, str | None]:
    """The lower bound of the epistemic uncertainty and None, or None and the reason, for one item.

    `rows` are those of ITERATIVE_PROMPTS for the responses to the item, in the order of the samples.
    """
    distinct = rows["distinct"].drop_nulls()
    if not len(distinct):
        return None, rows["reason"][0]
    # The same in all rows: the first sample that gave each distinct answer.
    first_samples = distinct[0].to_list()
    answers = rows.filter(pl.col("sample").is_in(first_samples)).drop_nulls("logprob")
    n_conditional = answers["conditional_logprobs"].list.len()
    if len(answers) != len(first_samples) or (n_conditional != len(answers)).any():
        return None, "not every answer has its log-probabilities"
    marginal = answers["logprob"].to_numpy()
    conditional = np.array(answers["conditional_logprobs"].to_list())
    return mutual_information(_scale_probabilities(marginal), _scale_probabilities(conditional)), None


def _scale_probabilities(logprobs: np.ndarray) -> np.ndarray:
    """Probabilities divided by the largest of each row: long answers would underflow, and only shares count."""
    probabilities: np.ndarray = np.exp(logprobs - logprobs.max(axis=-1, keepdims=True))
    return probabilities


def _import_requery() -> ModuleType:
    """The module that asks an engine; imported only where that happens, because it imports the engines."""
    from papers.ambiguity.signal_families.iterative_prompting.requery import iterative_prompts

    return iterative_prompts


FAMILY = Family(
    "how much an answer in the prompt changes the model's own answers: the model is asked about each pair, on a GPU",
    (Signal("ip", "IP", _IP, "nats"),),
    per_item=True,
    requery=EnginePass(
        ITERATIVE_PROMPTS,
        load_module=_import_requery,
        version=1,
        alike=(("distinct", "conditional_logprobs"),),
        # An upper bound: each of the first responses is scored after each of them, and after only the prompt.
        contexts_per_token=lambda settings: settings["samples"] + 1,
        first_responses=lambda settings: settings["samples"],
    ),
    settings=IterativePrompting,
    compute=compute,
)
