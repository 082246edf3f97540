"""Mistakes that people make in an extension: what is said, and that nothing else is lost."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest
from extended import extension, printed
from production import line, log_file, saved

from entropy_sentinel.frames.errors import ConfigError, ContractError, InputError
from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.frames.sections import Settings
from entropy_sentinel.jobs.calls import check
from entropy_sentinel.judges.judge import Case, Verdict
from entropy_sentinel.stages.label import label

BROKEN = """
def outputs():
    from entropy_sentinel.monitor.showing.output import Output

    def write(found, target):
        return found.nothing

    return {"track": Output("track", "Rows.", write)}


def formats():
    from entropy_sentinel.sources.logs.format import Format

    return {"notes": Format("notes", "notes", "nothing", lambda: None, lambda record: record["note"] != "")}


def signals():
    import polars as pl
    from entropy_sentinel.frames.signals import Family, Signal

    def compute(traces):
        return traces.select("no_such_column").collect()

    return {"made": Family("made up", (Signal("made_up", "Made", "made up", "1"),), compute=compute)}
"""


@pytest.mark.slow
def test_a_mistake_in_an_output_or_a_format_hides_no_alert(tmp_path: Path) -> None:
    mine = extension(tmp_path / "mine", BROKEN)
    log = log_file(tmp_path / "log.jsonl", [line(number, route="shop") for number in range(30)])
    estimator = saved(tmp_path, "group-accuracy")
    code = f"""
import contextlib, io, json
from entropy_sentinel.commands.main import main
said = io.StringIO()
try:
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        call = ["monitor", {str(estimator)!r}, {str(log)!r}, "--by", "route", "--fail-below", "1"]
        main([*call, "--track", "track.csv"])
    status = 0
except SystemExit as ended:
    status = ended.code
print(json.dumps([status, said.getvalue()]))
"""
    status, said = printed(tmp_path, code, mine)
    assert status == 4
    assert f"--track: {mine / '__init__.py'}:6: AttributeError" in said


def test_a_mistake_in_a_family_of_signals_is_told_with_its_place(tmp_path: Path) -> None:
    mine = extension(tmp_path / "mine", BROKEN)
    log = log_file(tmp_path / "log.jsonl", [line(1)])
    code = f"""
import json
import entropy_sentinel as es
try:
    es.read_features({str(log)!r}, signals=["made_up"])
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    kind, message = printed(tmp_path, code, mine)
    assert kind == "InputError"
    assert message.startswith(f"signals/made: compute failed: {mine / '__init__.py'}:")


def test_a_misspelt_key_that_is_not_tracked_is_refused() -> None:
    with pytest.raises(TypeError, match="Web.UNTRACKED: 'adress' is not a key of the class; keys: address"):

        class Web(Settings):
            UNTRACKED: ClassVar[set[str]] = {"adress"}
            address: str


def test_a_column_that_a_stage_does_not_have_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "labels.parquet"
    rows = {name: [None] for name in LABELS.schema} | {"item_id": ["a"], "sample": [0], "label": [True]}
    LABELS.write(LABELS.frame(rows), path, {})
    with pytest.raises(ContractError, match="stage 'labels' have no column 'model'; columns: item_id, sample, "):
        LABELS.read(path, ["item_id", "model"])


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("stages.label.write_label", "has no function 'write_label'; did you mean 'write_labels'"),
        ("stages.labels.write_labels", "there is no module 'stages.labels'"),
        ("write_labels", "there is no module ''"),
    ],
)
def test_a_rule_whose_function_does_not_exist_is_refused_while_planning(function: str, said: str) -> None:
    check("stages.label.write_labels")
    with pytest.raises(ConfigError, match=said):
        check(function)


class Sparing:
    """A judge that does not judge all cases."""

    software = "sparing 1"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        return [Verdict(True) for _ in cases[1:]]


def test_a_judge_that_leaves_cases_out_is_told() -> None:
    items = pl.DataFrame({"item_id": ["a", "b"], "question": "?", "reference": "1"})
    responses = pl.DataFrame({"item_id": ["a", "b"], "sample": [0, 0], "text": "1", "finish_reason": "stop"})
    with pytest.raises(InputError, match="judge sparing 1: must return a Verdict for each of 2 cases, returned 1"):
        label(items, responses, Sparing())
