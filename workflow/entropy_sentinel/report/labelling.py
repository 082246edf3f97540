"""Labelling in a browser: one page with everything in it, to be opened from the disk; it saves a CSV file."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropy_sentinel.report.formulas import parts
from entropy_sentinel.report.pages import render

_TEMPLATE = Path(__file__).with_name("labelling.html.j2")
# The possible answers, by the key that is pressed.
ANSWERS = {"1": "correct", "2": "incorrect", "3": "unsure"}
_TEXTS, _FACTS = ("question", "response", "reference"), ("cut_off", "caution")


def labelling_page(
    title: str,
    rows: Sequence[dict[str, Any]],
    keys: Sequence[str],
    columns: Sequence[str],
    given: Sequence[str | None],
    saved: dict[str, str],
    file: str,
    command: str,
    shielded: bool = False,
) -> str:
    """The page's HTML for `rows`, each with `question`, `response`, and perhaps `reference`, `cut_off` and `caution`.

    It begins with the answers `given`, a value of ANSWERS or null for each row. `columns` are those of the file that it
    saves, of which the last is `label`; `keys` tell a row from others. `saved` is what stands there for each answer;
    rows whose answer has none are left out. `command` is what the file, called `file`, is given to; `shielded` says
    whether texts in it are as `frames.printable` writes them.
    """
    content = [(row["response"], *(row[name] for name in keys)) for row in rows]
    wanted = dict.fromkeys([*_FACTS, *keys, *columns])
    return render(
        _TEMPLATE,
        title=title,
        label=None,
        references=any("reference" in row for row in rows),
        command=command,
        data={
            "rows": [
                {name: row.get(name) for name in wanted} | {name: parts(row.get(name)) for name in _TEXTS}
                for row in rows
            ],
            "answers": list(given),
            "labels": [
                {"key": key, "answer": answer, "saved": saved.get(answer, "")} for key, answer in ANSWERS.items()
            ],
            "keys": list(keys),
            "columns": list(columns),
            "file": file,
            "shielded": shielded,
            # The key under which the browser stores answers: another page for the same responses continues with them.
            "store": f"entropy-sentinel-{hashlib.sha256(repr(content).encode()).hexdigest()[:16]}",
        },
    )
