"""The searches of the pass for the items of one part, and the resulting rows (beam_search_frames.py)."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.study.engines.engine_interface import Beams, TokenIdEngine, collect_answers
from entropy_sentinel.study.engines.generation_section import AskedSettings
from papers.ambiguity.signal_families.beam_search.beam_search_frames import BEAMS


def ask(
    part: pl.DataFrame, engine: TokenIdEngine, settings: Mapping[str, Any], asked_with: AskedSettings
) -> pl.DataFrame:
    """A frame BEAMS for the responses in `part` (traces with `prompt_ids`), from one beam search for each item.

    `settings` are those of BeamSearch; `asked_with` those with which the model generated the responses.
    """
    prompts = dict(part.select("item_id", "prompt_ids").iter_rows())
    sampling = asked_with["sampling"]
    replies = engine.beams(prompts.values(), settings["width"], sampling["max_tokens"], sampling.get("stop", ()))
    beam_columns = {}
    for item, beams in zip(prompts, collect_answers(replies, len(prompts), "contexts"), strict=True):
        beam_columns[item] = _describe_beams(beams)
    return BEAMS.frame([row | beam_columns[row["item_id"]] for row in part.select(RESPONSE).iter_rows(named=True)])


def unasked(part: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """A frame BEAMS without beams for responses that cannot be asked about; their `unusable` has the reason."""
    return BEAMS.frame(part.select(*RESPONSE, reason="unusable").to_dicts())


def _describe_beams(beams: Beams) -> dict[str, Any]:
    """The columns texts to finish_reasons of BEAMS, or only the reason if the engine refused."""
    if not beams.beams:
        return {"reason": f"refused: {beams.refused}"}
    return {
        "texts": [beam.text for beam in beams.beams],
        "logprobs": [beam.logprob for beam in beams.beams],
        "lengths": [len(beam.token_ids) for beam in beams.beams],
        "finish_reasons": [beam.finish_reason for beam in beams.beams],
    }
