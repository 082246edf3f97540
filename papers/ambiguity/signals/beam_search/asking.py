"""The searches of the pass for the items of one part, and the resulting rows (frame.py)."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.engines.engine import Beams, TokenIdEngine, in_order
from entropy_sentinel.engines.generation import AskedSettings
from entropy_sentinel.frames.response import RESPONSE
from papers.ambiguity.signals.beam_search.frames import BEAMS


def ask(
    part: pl.DataFrame, engine: TokenIdEngine, settings: Mapping[str, Any], asked_with: AskedSettings
) -> pl.DataFrame:
    """Return rows of BEAMS for responses (traces with `prompt_ids`), from one search for each item."""
    prompts = dict(part.select("item_id", "prompt_ids").iter_rows())
    sampling = asked_with["sampling"]
    asked = engine.beams(prompts.values(), settings["width"], sampling["max_tokens"], sampling.get("stop", ()))
    found = in_order(asked, len(prompts), "contexts")
    of_item = {item: _columns(beams) for item, beams in zip(prompts, found, strict=True)}
    return BEAMS.frame([row | of_item[row["item_id"]] for row in part.select(RESPONSE).iter_rows(named=True)])


def unasked(part: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return rows without beams for responses that cannot be asked about; their `unusable` has the reason."""
    return BEAMS.frame(part.select(*RESPONSE, reason="unusable").to_dicts())


def _columns(beams: Beams) -> dict[str, Any]:
    if not beams.beams:
        return {"reason": f"refused: {beams.refused}"}
    return {
        "texts": [one.text for one in beams.beams],
        "logprobs": [one.logprob for one in beams.beams],
        "lengths": [len(one.token_ids) for one in beams.beams],
        "finish_reasons": [one.finish_reason for one in beams.beams],
    }
