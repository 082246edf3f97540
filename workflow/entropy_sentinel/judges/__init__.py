"""Judges: they label responses as correct or incorrect.

A new judge is a kind in `settings` with a version, or in an extension's `judges()`. Engines and items do without them.
May be imported by: `api`, `capture` and every room above.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.judges.judge_base import Kind
    from entropy_sentinel.llm_client.server_settings import Prompt


def judges() -> "dict[str, type[Kind]]":
    """The kinds of judges by the value of their key `kind`."""
    from entropy_sentinel.judges.judge_kinds import Choice, Exact, FirstOf, LabelsFile, Llm, Majority, MathVerify

    return {
        "math-verify": MathVerify,
        "llm": Llm,
        "exact": Exact,
        "choice": Choice,
        "file": LabelsFile,
        "first_of": FirstOf,
        "majority": Majority,
    }


def judge_prompts() -> "dict[str, Prompt]":
    """The prompts of LLM judges."""
    from entropy_sentinel.judges.judge_prompts import PROMPTS

    return PROMPTS
