"""Labelling in the terminal: one response after the other, one key each, saved after each."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from entropy_sentinel.auditing.answers import Answers, Response, replaced_file, save_answers
from entropy_sentinel.frames.printable import printable
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.report.labelling import ANSWERS

_KEYS = "c correct   i incorrect   u unsure   b back   q quit (all is saved)"


def label_in_terminal(
    shown: pl.DataFrame, answers: Answers, path: Path, key: Callable[[], str], console: Console
) -> Answers:
    """Show what has no answer yet, one after the other; returns all answers, which stand in `path` as well.

    Answers that others save there meanwhile are taken over.
    `key` waits for a key. It ends with the last answer, with `q`, and where there are no more keys.
    """
    rows = shown.rows(named=True)
    responses = [tuple(row[name] for name in RESPONSE) for row in rows]
    place = _next(responses, answers, 0)
    while place is not None:
        done = sum(response in answers for response in responses)
        console.rule(f"{place + 1} of {len(rows)}, {done} answered")
        _show(console, rows[place], answers.get(responses[place]))
        pressed = _pressed(key)
        if pressed == "q":
            break
        if pressed == "b":
            place = max(place - 1, 0)
        elif pressed in ANSWERS:
            answers, replaced = save_answers({responses[place]: ANSWERS[pressed]}, path, answers)
            for other in replaced.values():
                console.print(
                    f"somebody has answered '{other}' meanwhile; kept in {replaced_file(path)}", highlight=False
                )
            place = _next(responses, answers, place + 1)
        else:
            console.print(f"unknown key; {_KEYS}", highlight=False)
    return answers


def _pressed(key: Callable[[], str]) -> str:
    try:
        return key().lower() or "q"
    except (EOFError, KeyboardInterrupt):
        return "q"


def _next(responses: Sequence[Response], answers: Answers, start: int) -> int | None:
    """The first response from `start` on that has no answer, or else the first before it."""
    order = [*range(start, len(responses)), *range(min(start, len(responses)))]
    return next((place for place in order if responses[place] not in answers), None)


def _show(console: Console, row: dict[str, Any], answer: str | None) -> None:
    response = "Response (cut off)" if row["cut_off"] else "Response"
    reference = "none" if row["reference"] is None else row["reference"]
    for title, text in {"Question": row["question"], response: row["response"], "Reference": reference}.items():
        console.print(Panel(Text(printable(text)), title=title, title_align="left"))
    if row["caution"]:
        console.print(f"This response speaks to the judge: {row['caution']}.", highlight=False)
    if answer is not None:
        console.print(f"your answer so far: {answer}", highlight=False)
    console.print(_KEYS, highlight=False)
