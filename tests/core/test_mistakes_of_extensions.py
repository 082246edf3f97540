"""Mistakes that people make in an extension: what is said, and that nothing else is lost."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

import polars as pl
import pytest
from extended import extension, printed
from production import line, log_file, saved

from entropy_sentinel.core.errors import ConfigError, ContractError, InputError
from entropy_sentinel.core.extension_guard import guard_command
from entropy_sentinel.core.section_base import Settings
from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.jobs.job_calls import check_function
from entropy_sentinel.study.stages.label_stage import label_responses

BROKEN = """
def signals():
    import polars as pl
    from entropy_sentinel.schemas.signal_schema import Family, Signal

    def compute(traces):
        return traces.select("no_such_column").collect()

    return {"made": Family("made up", (Signal("made_up", "Made", "made up", "1"),), compute=compute)}
"""
# An output, a format and a statistic, whose parts may be replaced by code that fails.
PARTS = """
{top}

def outputs():
    from entropy_sentinel.monitor.showing.output_declaration import Output

    def write(found, target):
        {write}

    def check(target):
        {check}

    {outputs}
    return {{"{output}": Output("{output}", "Rows.", write, check=check)}}


def formats():
    from entropy_sentinel.logs.format_declaration import Container, Format
    from entropy_sentinel.logs.reader_base import Reader

    class Notes(Reader):
        def replies(self, record):
            {replies}

    def load():
        {load}

    def recognises(record):
        {recognises}

    def is_archive(begin):
        {is_archive}

    def records(stream, name, longest):
        {records}

    return {{"notes": Format("notes", "n", "n", load, recognises, containers=(Container(is_archive, records, ".n"),))}}


def statistics():
    import polars as pl
    from entropy_sentinel.monitor.column_declaration import Statistic

    def call(value):
        {call}

    each = {each}
    return {{"odd": Statistic(name="odd", meaning="m", unit="1", each=each, heading="odd", flag={flag}, form={form})}}
"""
WORKING = dict.fromkeys(("top", "write", "check", "outputs", "is_archive", "call"), "pass")
WORKING |= {"replies": "return []", "load": "return Notes", "recognises": "return False", "records": "yield"}
WORKING |= {"output": "track", "each": "pl.col('n_tokens')", "flag": "''", "form": "'.0f'"}
ENDS = "exit(0), which would end the whole process"


# Parts of an extension, the first of which is the mistake, and what is said about it.
ALERTS: dict[str, tuple[dict[str, str], str]] = {
    "write ends": ({"write": "exit(0)"}, f"--track: {{at}}: SystemExit: {ENDS}"),
    "write fails": ({"write": "return found.nothing"}, "--track: {at}: AttributeError"),
    "no network": ({"write": "raise OSError('no network')"}, "--track: OSError: no network"),
    "recognises ends": ({"recognises": "exit(0)"}, f"recognises failed: {{at}}: SystemExit: {ENDS}"),
    "recognises fails": ({"recognises": "return record['note']"}, "recognises failed: {at}: KeyError: 'note'"),
    "archive ends": ({"is_archive": "exit(0)"}, f"recognises failed: {{at}}: SystemExit: {ENDS}"),
    "prints": (
        {"write": "print('hello')", "top": "print('hello')", "outputs": "print('hello')"},
        "hello\nhello\nhello",
    ),
}
TAKEN = {"recognises": "return True"}
EACH = "'odd': `each` failed: "
STOPS: dict[str, tuple[dict[str, str], str]] = {
    "check": ({"check": "exit(0)"}, f"ExtensionError: --track: check failed: {{at}}: SystemExit: {ENDS}"),
    "load": ({"load": "1 / 0", **TAKEN}, "format 'notes': load failed: {at}: ZeroDivisionError"),
    "load none": ({"load": "return", **TAKEN}, "load failed: mine ({place}): formats(): 'notes': TypeError: must"),
    "replies": ({"replies": "exit(0)", **TAKEN}, f"{{at}}: SystemExit: {ENDS}"),
    "records": (
        {"records": "yield exit(0)", "is_archive": "return True"},
        f"records failed: {{at}}: SystemExit: {ENDS}",
    ),
    "each type": ({"each": "3"}, "mine ({place}): the statistic 'odd': `each` must be a Polars expression, got 3"),
    "each text": ({"each": "pl.col('text')"}, f"{EACH}mine ({{place}}): statistics(): 'odd': Invalid"),
    "each sum": ({"each": "pl.col('n_tokens').sum()"}, "'odd': ValueError: must have a value for each of 30 responses"),
    "each ends": (
        {"call": "exit(0)", "each": "pl.col('n_tokens').map_elements(call, pl.Int64)"},
        "{at}: SystemExit: exit(0",
    ),
    "form": ({"form": "'%d items'"}, "mine ({place}): the statistic 'odd': `form` must be a format of numbers"),
    "flag": ({"flag": "3"}, "mine ({place}): statistics(): 'odd': `flag` must be of type str, got 3"),
    "keyword": ({"output": "class"}, "mine ({place}): the output 'class' needs another name, because it is a keyword"),
}
# Without its output, there is no option `--track`, which is a usage error.
DECLARES = ({"outputs": "exit(0)"}, f"extension 'mine': outputs() failed: {{at}}: SystemExit: {ENDS}")


class Run(NamedTuple):
    """A run of the monitor with an extension: its file, and the line of its mistake."""

    status: int
    out: str
    said: str
    place: str
    line: int

    def says(self, text: str) -> bool:
        """Whether standard error has a text with the places of the mistake filled in."""
        return text.format(place=self.place, at=f"{self.place}:{self.line}") in self.said


# Runs a monitor with each extension in a fork, because a process reads its declarations once, and the libraries take
# longer to import than all else. argv: estimator, log, extensions.
RUNS = """
import contextlib, io, json, os, sys, warnings
import polars, pydantic, rich, scipy.stats, sklearn.linear_model, typer

def run(call):
    from entropy_sentinel.core.errors import ConfigError
    try:
        from entropy_sentinel.cli.main import main
        main(call)
        return 0
    except SystemExit as ended:
        return ended.code
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 1

results = []
for mine in sys.argv[3:]:
    read, write = os.pipe()
    with warnings.catch_warnings(action="ignore"):
        process = os.fork()
    if process == 0:
        os.environ["ENTROPY_SENTINEL_EXTENSIONS"] = mine
        out, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
            status = run(["monitor", *sys.argv[1:3], "--fail-below", "1", "--json", "--track", "track.csv"])
        with open(write, "w") as answer:
            json.dump([status, out.getvalue(), said.getvalue()], answer)
        os._exit(0)
    os.close(write)
    with open(read) as answer:
        results.append(json.load(answer))
    os.waitpid(process, 0)
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """The runs of a monitor that alerts, with each of the mistakes."""
    folder, places = tmp_path_factory.mktemp("runs"), dict[str, tuple[str, int]]()
    for number, (name, (parts, _)) in enumerate({**ALERTS, **STOPS, "declares": DECLARES}.items()):
        above = folder / str(number)
        above.mkdir()
        file = extension(above / "mine", PARTS.format(**WORKING | parts)) / "__init__.py"
        mistake = next(iter(parts.values()))
        places[name] = str(file), 1 + next(n for n, text in enumerate(file.read_text().split("\n")) if mistake in text)
    log = log_file(folder / "log.jsonl", [line(number, route="shop") for number in range(30)])
    call = [str(saved(folder, "group-accuracy")), str(log), *(os.path.dirname(file) for file, _ in places.values())]
    done = subprocess.run(
        [sys.executable, "-c", RUNS, *call],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {name: Run(*run, *places[name]) for name, run in zip(places, json.loads(done.stdout), strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALERTS)
def test_a_mistake_in_an_extension_hides_no_alert(runs: dict[str, Run], name: str) -> None:
    run = runs[name]
    assert run.status == 4
    assert json.loads(run.out)["alerts"][0]["kind"] == "below"
    assert run.says(ALERTS[name][1])


@pytest.mark.slow
@pytest.mark.parametrize("name", STOPS)
def test_a_mistake_that_stops_a_monitor_names_the_extension(runs: dict[str, Run], name: str) -> None:
    run = runs[name]
    assert (run.status, run.out) == (1, "")
    assert run.says(STOPS[name][1])


@pytest.mark.slow
def test_a_function_that_declares_cannot_end_a_monitor(runs: dict[str, Run]) -> None:
    assert runs["declares"].status == 2
    assert runs["declares"].says(DECLARES[1])


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
    assert kind == "ExtensionError"
    assert message.startswith(f"signals/made: compute failed: {mine / '__init__.py'}:")


FITTING = """
def estimators():
    from entropy_sentinel.estimators.family_declaration import EstimatorFamily

    class Module:
        @staticmethod
        def fit(name, rows):
            {fit}

    def load():
        {load}

    return {{"mine": EstimatorFamily("mine", "m", load, {{"mine": "Mine"}}, {{"mine": ("max",)}})}}


def features():
    import polars as pl
    from entropy_sentinel.features.feature_declaration import H, X, Feature

    def call(value):
        {call}

    return {{"odd": Feature("odd", "Odd", "odd", "1", expression=H(X.mean()).map_elements(call, pl.Float64))}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"load": "exit(0)"}, f"estimator 'mine': `load` of its family failed: {{file}}:11: SystemExit: {ENDS}"),
        ({"fit": "exit(0)"}, f"estimator 'mine': fit failed: {{file}}:8: SystemExit: {ENDS}"),
        ({"fit": "return 1"}, "estimator 'mine': fit failed: mine ({file}): estimators(): 'mine': TypeError: must"),
        ({"call": "exit(0)"}, "feature 'odd': its expression failed: {file}:21: SystemExit: exit(0"),
    ],
)
def test_a_mistake_in_an_estimator_or_a_feature_names_the_extension(
    tmp_path: Path, parts: dict[str, str], said: str
) -> None:
    working = {"fit": "return None", "load": "return Module", "call": "return value"}
    mine = extension(tmp_path / "mine", FITTING.format(**working | parts))
    log = log_file(tmp_path / "log.jsonl", [line(number) for number in range(4)])
    code = f"""
import json
import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
try:
    features = es.read_features({str(log)!r})
    labels = features.select("item_id", label=features["item_id"].is_in(["req-0001", "req-0002"]))
    es.fit(features, labels, "mine")
except InputError as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    kind, message = printed(tmp_path, code, mine)
    assert kind == "ExtensionError"
    assert message.startswith(said.format(file=mine / "__init__.py"))


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
        ("study.stages.label_stage.write_label", "has no function 'write_label'; did you mean 'write_labels'"),
        ("stages.labels.write_labels", "there is no module 'stages.labels'"),
        ("write_labels", "there is no module ''"),
    ],
)
def test_a_rule_whose_function_does_not_exist_is_refused_while_planning(function: str, said: str) -> None:
    check_function("study.stages.label_stage.write_labels")
    with pytest.raises(ConfigError, match=said):
        check_function(function)


class Sparing:
    """A judge that does not judge all cases."""

    software = "sparing 1"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        return [Verdict(True) for _ in cases[1:]]


def test_a_judge_that_leaves_cases_out_is_told() -> None:
    items = pl.DataFrame({"item_id": ["a", "b"], "question": "?", "reference": "1"})
    responses = pl.DataFrame({"item_id": ["a", "b"], "sample": [0, 0], "text": "1", "finish_reason": "stop"})
    with pytest.raises(InputError, match="judge sparing 1: must return a Verdict for each of 2 cases, returned 1"):
        label_responses(items, responses, Sparing())


def test_a_reader_that_closes_the_output_is_no_mistake_of_an_extension() -> None:
    def print_table() -> None:  # as Rich does when `head` has read enough
        try:
            raise BrokenPipeError
        except BrokenPipeError:
            raise SystemExit(1)  # noqa: B904

    with pytest.raises(SystemExit):
        guard_command(print_table)()
