"""Make a self-contained page for labelling in a browser; it opens from the disk and saves a CSV file."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropy_sentinel.rendering.html_pages import render
from entropy_sentinel.rendering.mathml import split_formulas

_TEMPLATE = Path(__file__).with_name("labelling.html.j2")
# The possible answers, by the key that is pressed.
ANSWERS = {"1": "correct", "2": "incorrect", "3": "unsure"}
_TEXTS, _NOTES = ("context", "question", "response", "reference"), ("cut_off", "caution")


def render_labelling_page(
    title: str,
    rows: Sequence[dict[str, Any]],
    keys: Sequence[str],
    columns: Sequence[str],
    initial_answers: Sequence[str | None],
    saved: dict[str, str],
    file: str,
    command: str,
    shielded: bool = False,
    facts: Sequence[str] = (),
    reference_is_rule: bool = True,
) -> str:
    """The HTML of a page for labelling `rows`.

    Args:
        title: The title of the page.
        rows: Each with `question` and `response`, and optionally `reference`, `cut_off`, `caution` and
            `context`, which the model was told before the question.
        keys: The columns that identify a row.
        columns: The columns of the saved file; the last one is `label`.
        initial_answers: The answers at the start: a value of ANSWERS or null for each row.
        saved: The label in the file for each answer; rows with any other answer are omitted.
        file: The name of the saved file.
        command: The command that reads the file.
        shielded: Whether texts that a spreadsheet would run as formulas are escaped in the saved file.
        facts: The columns shown above the question, such as the slice.
        reference_is_rule: Whether a response is correct if it agrees with its reference. Otherwise the reference is
            what the log has, and folded until somebody opens it, so that people judge before they compare.
    """
    names = dict.fromkeys([*_NOTES, *keys, *columns, *facts])
    content = []  # what identifies the responses of the page
    page_rows = []
    for row in rows:
        content.append((row["response"], *[row[key] for key in keys]))
        texts = {name: split_formulas(row.get(name)) for name in _TEXTS}
        page_rows.append({name: row.get(name) for name in names} | texts)
    labels = [{"key": key, "answer": answer, "saved": saved.get(answer, "")} for key, answer in ANSWERS.items()]
    return render(
        _TEMPLATE,
        title=title,
        label=None,
        references=any("reference" in row for row in rows),
        reference_is_rule=reference_is_rule,
        command=command,
        data={
            "rows": page_rows,
            "answers": list(initial_answers),
            "labels": labels,
            "keys": list(keys),
            "columns": list(columns),
            "facts": list(facts),
            "file": file,
            "shielded": shielded,
            # The key under which the browser stores answers: another page for the same responses continues with them.
            "store": f"entropy-sentinel-{hashlib.sha256(repr(content).encode()).hexdigest()[:16]}",
        },
    )
