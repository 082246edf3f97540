"""What the pass asks of the responses of one part, and the rows that come of it (frame.py)."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.engines.engine import Engine
from entropy_sentinel.engines.generation import AskedSettings
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.signals.integers.frame import INTEGERS
from entropy_sentinel.signals.integers.search import Found, search

_LATER = "not the first response to its item, which alone is asked about: the prompt is the same"
_NO_END = "no response asked about beside it has come to its end, which would say by what token"
_NONE = "none of the model's likely answers is an integer alone"


def ask(part: pl.DataFrame, engine: Engine, settings: Mapping[str, Any], asked_with: AskedSettings) -> pl.DataFrame:
    """Rows of INTEGERS for responses with `prompt_ids` beside the columns of a trace.

    What ends an answer is what has ended the model's own. `settings` is the config's section.
    """
    first = part.filter(sample=0)
    ends = set(part.filter(finish_reason="stop")["token_ids"].list.last().drop_nulls())
    later = _without(part.filter(pl.col("sample") > 0), pl.lit(_LATER))
    if not ends:
        return pl.concat([_without(first, pl.lit(_NO_END)), later])
    found = search(first["prompt_ids"].to_list(), engine, ends, settings["prune_below"])
    which = first.select(RESPONSE).to_dicts()
    return pl.concat([INTEGERS.frame([one | _row(of) for one, of in zip(which, found, strict=True)]), later])


def unasked(part: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Rows without a distribution for responses that cannot be asked about; their `unusable` says why."""
    return _without(part, pl.col("unusable"))


def _row(found: Found) -> dict[str, Any]:
    """The columns of a response that has been asked about."""
    if found.refused or not found.whole:
        return {"reason": f"refused: {found.refused}" if found.refused else _NONE}
    whole, first = sorted(found.whole.items()), sorted(found.first.items())
    return {
        "values": [value for value, _ in whole],
        "logprobs": [logprob for _, logprob in whole],
        "missing": found.missing,
        "first_values": [value for value, _ in first],
        "first_logprobs": [logprob for _, logprob in first],
    }


def _without(part: pl.DataFrame, reason: pl.Expr) -> pl.DataFrame:
    """Rows without a distribution."""
    return INTEGERS.frame(part.select(*RESPONSE, reason=reason).to_dicts())
