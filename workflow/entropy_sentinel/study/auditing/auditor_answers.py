"""Collect people's answers for an audit, in a terminal or a browser, and keep them in a file."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.file_locks import hold_lock
from entropy_sentinel.core.printable import make_printable
from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.rendering.labelling_page import ANSWERS, render_labelling_page
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.study.auditing.audit_sample import AuditSample, get_audit_folder

COLUMNS = (*RESPONSE, "label")
LABELS = ("correct", "incorrect", "unsure")

# Model, benchmark, item and sample.
Response = tuple[str, str, str, int]
Answers = dict[Response, str]
_KEYS = "   ".join([*map(" ".join, ANSWERS.items()), "b back", "q quit (all is saved)"])


def get_answers_path(study: str, judge: str) -> Path:
    """The file with the answers of an audit."""
    return get_audit_folder(study, judge) / "answers.csv"


def read_answers(path: Path) -> Answers:
    """Read the answers in a file; raise InputError with row and field for an invalid one."""
    try:
        lines = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), strict=True)
        table = [row for row in lines if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: must be a CSV file of answers, but cannot be read: {error}") from None
    head = table[0] if table else []
    for name in COLUMNS:
        if name not in head:
            raise InputError(f"{path}: column '{name}' is missing; columns: {', '.join(head) or 'none'}")
    answers: Answers = {}
    for number, row in enumerate(table[1:], start=1):
        if len(row) != len(head):
            raise InputError(f"{path}: row {number}: must have {len(head)} fields, has {len(row)}")
        response, label = _parse_answer(dict(zip(head, row, strict=True)), f"{path}: row {number}")
        if response in answers:
            raise InputError(f"{path}: row {number}: 'item_id' must occur once per model and sample: {response[2]}")
        answers[response] = label
    return answers


def _parse_answer(row: Mapping[str, str], where: str) -> tuple[Response, str]:
    """The response and its label in a row of a file of answers; `where` begins an error: the file and the row."""
    if row["label"] not in LABELS:
        raise InputError(f"{where}: 'label' must be one of {', '.join(LABELS)}; got '{row['label'][:100]}'")
    if not row["sample"].isdecimal():
        raise InputError(f"{where}: 'sample' must be a number from 0; got '{row['sample'][:100]}'")
    return (row["model"], row["benchmark"], row["item_id"], int(row["sample"])), row["label"]


def write_answers(answers: Answers, path: Path) -> None:
    """Write all answers in one step."""
    rows = [(*response, label) for response, label in answers.items()]
    _write_csv([COLUMNS, *rows], path)


def save_answers(new_answers: Answers, path: Path, previous_answers: Answers | None = None) -> tuple[Answers, Answers]:
    """Add `new_answers` to the file at `path`, to which other people may save at the same time.

    Gives all answers, and those of other people that new ones replaced, which are kept in `get_replaced_path`. An
    answer in `previous_answers` is the caller's own: it is changed on purpose, so it does not count as replaced.
    """
    previous_answers = previous_answers or {}
    with hold_lock(path.with_name(f".{path.name}.lock")):
        saved = read_answers(path) if path.exists() else {}
        replaced = {}
        for response, label in new_answers.items():
            saved_label = saved.get(response, label)
            if saved_label not in (label, previous_answers.get(response)):
                replaced[response] = saved_label
        if replaced:
            _keep_replaced(replaced, new_answers, get_replaced_path(path))
        write_answers(saved | new_answers, path)
    return saved | new_answers, replaced


def get_replaced_path(path: Path) -> Path:
    """The file with the answers that other people have replaced."""
    return path.with_name(f"{path.stem}.replaced.csv")


def _keep_replaced(replaced: Answers, new_answers: Answers, path: Path) -> None:
    """Append the replaced answers, each with the label that replaced it, to the file at `path`."""
    earlier_rows: list[list[str]] = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as lines:
            earlier_rows = list(csv.reader(lines))[1:]  # without the heading
    rows = [(*response, label, new_answers[response]) for response, label in replaced.items()]
    _write_csv([(*COLUMNS, "replaced_by"), *earlier_rows, *rows], path)


def _write_csv(rows: Iterable[Sequence[object]], path: Path) -> None:
    """Write the rows, of which the first is the heading, in one step."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_whole(path, text.getvalue())


def add_answers(sample: AuditSample, new_file: Path, path: Path) -> tuple[int, int, int]:
    """Add the answers in `new_file` to the file at `path`.

    Gives three numbers of answers: for responses of the sample, for other responses (ignored), and those that replaced
    another answer. Raises InputError if none is for a response of the sample.
    """
    new_answers = read_answers(new_file)
    responses = set(sample.rows.select(RESPONSE).rows())
    used = {response: label for response, label in new_answers.items() if response in responses}
    if not used:
        raise InputError(f"{new_file}: none of its {len(new_answers)} answers is for a response of this sample")
    _, replaced = save_answers(used, path)
    return len(used), len(new_answers) - len(used), len(replaced)


def write_page(sample: AuditSample, material: pl.DataFrame, answers: Answers, path: Path, command: str) -> None:
    """Write the HTML page for labelling the sample, with the existing `answers`.

    `material` is the frame of `collect_material`, which has no verdicts of the judge. The page names `command`, which
    reads the file that the page saves.
    """
    responses = material.select(RESPONSE).rows()
    content = render_labelling_page(
        f"Audit: {sample.provenance['study']}",
        material.select(*RESPONSE, "question", "reference", "response", "cut_off", "caution").to_dicts(),
        keys=RESPONSE,
        columns=COLUMNS,
        initial_answers=[answers.get(response) for response in responses],
        saved={label: label for label in LABELS},  # the page's answers are the labels in the file
        file="answers.csv",
        command=command,
        facts=("model", "benchmark"),
    )
    write_whole(path, content)


def label_in_terminal(
    material: pl.DataFrame, answers: Answers, path: Path, key: Callable[[], str], console: Console
) -> Answers:
    """Show the responses without an answer one by one; give all answers, which are also saved in `path`.

    `material` is the frame of `collect_material`. Answers that other people save meanwhile count too. `key` waits for a
    key. The function ends after the last answer, with `q`, and if there are no more keys.
    """
    rows = material.rows(named=True)
    responses = material.select(RESPONSE).rows()
    place = _find_next(responses, answers, 0)
    while place is not None:
        done = sum(response in answers for response in responses)
        console.rule(f"{place + 1} of {len(rows)}, {done} answered")
        _show_response(console, rows[place], answers.get(responses[place]))
        pressed = _read_key(key)
        if pressed == "q":
            break
        if pressed == "b":
            place = max(place - 1, 0)
        elif pressed in ANSWERS:
            answers, replaced = save_answers({responses[place]: ANSWERS[pressed]}, path, answers)
            for replaced_label in replaced.values():
                console.print(
                    f"somebody else answered '{replaced_label}' meanwhile; that answer is kept in "
                    f"{get_replaced_path(path)}",
                    highlight=False,
                )
            place = _find_next(responses, answers, place + 1)
        else:
            console.print(f"unknown key; {_KEYS}", highlight=False)
    return answers


def _read_key(key: Callable[[], str]) -> str:
    """The next key in lower case; "q" (quit) at the end of the input and for Ctrl-C."""
    try:
        return key().lower() or "q"
    except (EOFError, KeyboardInterrupt):
        return "q"


def _find_next(responses: Sequence[Response], answers: Answers, start: int) -> int | None:
    """The index of the first response without an answer from `start` on, or else before it; None without any."""
    for place in chain(range(start, len(responses)), range(min(start, len(responses)))):
        if responses[place] not in answers:
            return place
    return None


def _show_response(console: Console, row: dict[str, Any], answer: str | None) -> None:
    """Print a response, a row of `collect_material`, with its question, reference, warnings and present answer."""
    response_title = "Response (cut off)" if row["cut_off"] else "Response"
    reference = "none" if row["reference"] is None else row["reference"]
    for title, text in {"Question": row["question"], response_title: row["response"], "Reference": reference}.items():
        console.print(Panel(Text(make_printable(text)), title=title, title_align="left"))
    if row["caution"]:
        console.print(f"This response addresses the judge: {row['caution']}.", highlight=False)
    if answer is not None:
        console.print(f"your answer so far: {answer}", highlight=False)
    console.print(_KEYS, highlight=False)
