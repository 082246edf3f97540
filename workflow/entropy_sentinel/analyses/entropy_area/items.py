"""Stage `items`: of each item of one model, how much its samples vary, and the measures of its first response."""

from collections.abc import Sequence
from typing import TypedDict

import polars as pl

from entropy_sentinel.analyses.entropy_area.catalogue import ANSWERS, AREA, area_measures
from entropy_sentinel.analyses.entropy_area.frames import ANSWER_CLASSES, ITEMS, RESPONSES
from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.signals.forced_answer import FORCED_ANSWERS
from entropy_sentinel.statistics.variety import answer_entropy, correctness_entropy


class ItemFiles(TypedDict):
    """Files of one model, one for each benchmark: ANSWER_CLASSES, features, and the pass of forced answers."""

    answers: Sequence[str]
    features: Sequence[str]
    passes: Sequence[str]


def write_items(files: ItemFiles, by_response_output: str, by_item_output: str) -> None:
    """Write the measures of all responses of one model, and its items."""
    responses = gather(
        pl.concat(map(ANSWER_CLASSES.read, files["answers"])),
        pl.concat(FEATURE_FRAME.read(path, [*RESPONSE, "ppl", "n_tokens"]) for path in files["features"]),
        pl.concat(FORCED_ANSWERS.read(path, [*RESPONSE, "answer", *AREA]) for path in files["passes"]),
    )
    about = {"model": responses["model"][0]} if len(responses) else {}
    RESPONSES.write(responses, by_response_output, about)
    ITEMS.write(by_item(responses), by_item_output, about)


def gather(answers: pl.DataFrame, features: pl.DataFrame, asked: pl.DataFrame) -> pl.DataFrame:
    """A frame of contract RESPONSES: a row for each of `answers`, null where a response has no area."""
    found = answers.select(*RESPONSE, "label", "answer_class").join(
        features, on=RESPONSE, how="left", maintain_order="left", validate="1:1"
    )
    for answer in ANSWERS:
        named = {name: f"{name}_{answer}" for name in AREA}
        own = asked.filter(answer=answer).select(*RESPONSE, *AREA).rename(named)
        found = found.join(own, on=RESPONSE, how="left", maintain_order="left", validate="1:1")
    return found.select(RESPONSES.schema.names())


def by_item(responses: pl.DataFrame) -> pl.DataFrame:
    """A frame of contract ITEMS from a frame RESPONSES. The first response to an item has its lowest sample number."""
    rows = []
    for which, own in responses.sort(RESPONSE).group_by(ITEMS.key, maintain_order=True):
        answers, n_correct = own["answer_class"].to_list(), int(own["label"].fill_null(False).sum())
        first = own.row(0, named=True)
        rows.append(
            dict(zip(ITEMS.key, which, strict=True))
            | {
                "n_samples": len(own),
                "n_unreadable": answers.count(None),
                "n_answers": len({*answers} - {None}),
                "accuracy": n_correct / len(own),
                "answer_entropy": answer_entropy(answers),
                "answer_entropy_readable": answer_entropy(answers, unreadable=False),
                "correctness_entropy": correctness_entropy(n_correct, len(own)),
            }
            | {name: first[name] for name in ("sample", *area_measures(list(ANSWERS)), "ppl", "n_tokens")}
        )
    return ITEMS.frame(rows)
