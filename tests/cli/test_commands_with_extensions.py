"""Commands, verbs and Snakemake in a folder whose study has extensions, each in a process of its own."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from extended import extension, printed, ran
from tiny import TINY

from entropy_sentinel.core.extensions import VARIABLE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LETTER = '''
from typing import ClassVar, Literal

from pydantic import Field

from entropy_sentinel.judges.judge_interface import Verdict
from entropy_sentinel.judges.judge_base import Kind


class Letter(Kind):
    """letter: right where a letter is in the response."""

    VERSION: ClassVar[int] = 1
    kind: Literal["letter"] = Field(description="letter: right where a letter is in the response")
    letter: str = Field("e", description="letter: the one to look for")

    @classmethod
    def load(cls):
        return lambda settings: LetterJudge(settings["letter"])


class LetterJudge:
    software = "letter"

    def __init__(self, letter):
        self.letter = letter

    def judge(self, cases):
        return [Verdict(self.letter in case.response) for case in cases]
'''
JUDGES = 'def judges():\n    from mine.letter import Letter\n\n    return {"letter": Letter}\n'
STUDY: dict[str, Any] = {
    "study": "door",
    "extensions": ["mine"],
    "judges": {"mine": {"kind": "letter", "letter": "a"}},
    "run": {
        "judges": ["mine"],
        "models": ["made"],
        "benchmarks": ["rows"],
        "analyses": ["responses"],
        "groups": [],
        "sizes": [],
    },
    "models": {"made": {"source": "traces", "source_logprobs_mode": "raw_logprobs"}},
    "benchmarks": {"rows": {"path": "rows.jsonl", "question": ["{question}"], "reference": ["{answer}"]}},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a study, in which Snakemake and the commands run, with the extension `mine`."""
    shutil.copy(ROOT / "config.yaml", tmp_path)
    extension(tmp_path / "mine", JUDGES, letter=LETTER)
    rows = [json.dumps({"question": f"What is {number}?", "answer": "4"}) for number in range(40)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    (tmp_path / "traces").mkdir()
    traces = pl.read_parquet(TINY.traces / "averages.parquet")
    ids = pl.Series("item_id", [f"rows-{row:05d}" for row in range(40)])
    traces.with_columns(ids).write_parquet(tmp_path / "traces" / "rows.parquet")
    return tmp_path


def study(folder: Path, changes: Mapping[str, Any] = {}, name: str = "study.yaml") -> str:
    """Write the study with other sections, and return its name."""
    (folder / name).write_text(yaml.safe_dump(STUDY | dict(changes)))
    return name


def called(folder: Path, *words: str, variable: str | None = None, **more: str) -> tuple[int, str, str]:
    """What a program ends with and prints; it has a minute."""
    environment = {name: value for name, value in os.environ.items() if name not in (VARIABLE, "PYTHONPATH")}
    environment |= ({VARIABLE: variable} if variable else {}) | more
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def command(folder: Path, *arguments: str, **options: Any) -> tuple[int, str, str]:
    """The installed command."""
    return called(folder, str(Path(sys.executable).with_name("entropy-sentinel")), *arguments, **options)


def planned(folder: Path, config: str, **options: Any) -> tuple[int, str]:
    """A dry run of Snakemake, and all that it prints."""
    words = [sys.executable, "-m", "snakemake", "-s", str(ROOT / "Snakefile"), "-n", "--quiet", "rules"]
    status, output, errors = called(folder, *words, "--configfile", config, **options)
    return status, output + errors


def test_a_command_begins_again_with_the_extensions_of_its_study(folder: Path) -> None:
    config = study(folder)
    status, output, errors = command(folder, "plan", "-c", config)
    assert (status, errors) == (0, "")
    assert "Study 'door': 1 model x 1 benchmark" in output
    for words in (["-m", "entropy_sentinel"], ["-c", "from entropy_sentinel.__main__ import main; main()"]):
        assert called(folder, sys.executable, *words, "progress", "-c", config)[0] == 0
    # A file beside the study hides no module of Python's.
    (folder / "typing.py").write_text("raise SystemExit('shadowed')")
    assert command(folder, "plan", "-c", config)[0] == 0


@pytest.mark.parametrize(
    ("names", "fact"),
    [
        ("mine", "must be a list"),
        (["absent"], "No module named 'absent'"),
        (["absent/mine"], "'absent/mine'"),
        (["mine", "mine/"], None),
        (["bare"], "__init__.py"),
        (["."], "working folder"),
        ([f"with{os.pathsep}mark"], "rename"),
    ],
)
def test_a_command_does_not_begin_for_ever(folder: Path, names: object, fact: str | None) -> None:
    (folder / "bare").mkdir()
    (folder / f"with{os.pathsep}mark").mkdir()
    status, _, errors = command(folder, "plan", "-c", study(folder, {"extensions": names}))
    assert status == int(fact is not None)
    assert (fact or "") in errors
    assert "Traceback" not in errors


@pytest.mark.long
def test_a_process_that_read_its_catalogues_says_how_to_start_again(folder: Path) -> None:
    config = study(folder)
    code = f"""
import json
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.core.extensions import TooLateError

errors = []
for _ in range(2):
    try:
        load_config(read_config(["config.yaml", {config!r}]))
    except TooLateError as error:
        errors.append(str(error))
print(json.dumps(errors))
"""
    first, second = printed(folder, code)
    assert first == second
    assert f"{VARIABLE}={folder / 'mine'}" in first
    assert ran(folder, code, folder / "mine").stdout == "[]\n"
    # So does a command that a program calls.
    program = f"from entropy_sentinel.cli.main import main; main(['plan', '-c', {config!r}])"
    done = ran(folder, program)
    assert (done.returncode, done.stderr) == (1, f"TooLateError: {first}\n")


FAILING = {
    "broken": "1 / 0\n",
    "misspelt": "def judge():\n    return {}\n",
    "half": "def judges():\n    import nothing_there\n",
}
LINES = (
    "broken/__init__.py:1: ZeroDivisionError",
    "misspelt/__init__.py:1: ImportError: unknown declaration `judge()`; did you mean `judges()`?",
    "half/__init__.py:2: ModuleNotFoundError",
)


@pytest.fixture
def failing(folder: Path) -> Path:
    for name, init in FAILING.items():
        extension(folder / name, init)
    return folder


@pytest.mark.long
def test_what_needs_no_failed_extension_works_and_names_it(failing: Path) -> None:
    config = study(failing, {"extensions": ["mine", *FAILING]})
    status, output, errors = command(failing, "plan", "-c", config)
    assert status == 0
    assert "Study 'door'" in output
    assert all(f"{failing}{os.sep}{line}" in errors for line in LINES)
    assert len(errors.splitlines()) == len(LINES)
    status, output = planned(failing, config)
    assert status == 0
    for line in LINES:
        assert output.count(line) == 1
    status, output, errors = command(failing, "--help", variable=os.pathsep.join(FAILING))
    assert status == 0
    assert "features" in output
    assert LINES[0] in errors


@pytest.mark.long
def test_of_an_unknown_name_only_the_cause_is_told(failing: Path) -> None:
    """Names of the failed extensions are unknown to the config; such an error would hide the cause."""
    config = study(failing, {"extensions": [*FAILING]})
    status, _, errors = command(failing, "plan", "-c", config)
    assert status == 1
    *failures, last = errors.splitlines()
    assert [line in failure for line, failure in zip(LINES, failures, strict=True)] == [True] * len(LINES)
    assert "1 error of the config may follow from it" in last
    status, output = planned(failing, config)
    assert status == 1
    for line in LINES:
        assert output.count(line) == 1
    assert "must be a section with 'kind'" not in errors + output
    # What no extension can be the cause of is told.
    strange = study(failing, {"extensions": [*FAILING], "limit": float("inf")}, "strange.yaml")
    assert "limit: must be a finite number" in command(failing, "plan", "-c", strange)[2]
    # Subcommands are known before any option is read.
    status, _, errors = command(failing, "no-such-command", variable="broken")
    assert status == 2
    assert "no-such-command" in errors
    assert LINES[0] in errors


def test_verbs_warn_once_of_an_extension_that_failed(failing: Path) -> None:
    code = f"""
import warnings
import entropy_sentinel as es

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    rows = es.features(es.read_logs({str(TINY.log)!r})).height
    es.features(es.read_logs({str(TINY.log)!r}))
    try:
        es.fit("traces", "labels", estimator="mine")
    except es.core.errors.ConfigError as error:
        text = str(error)
warned = [str(one.message) for one in caught]
print(json.dumps([rows, warned, [one.filename for one in caught], text]))
"""
    rows, warned, where, error = printed(failing, f"import json\n{code}", *(failing / name for name in FAILING))
    assert rows == 12
    # No verb for logs reads the kinds of judges, which `half` declares: that is a study's.
    lines = LINES[:2]
    assert [line in warning for line, warning in zip(lines, warned, strict=True)] == [True] * len(lines)
    assert where == ["<string>"] * len(lines)
    assert error.startswith("unknown estimator 'mine'; known: ")
    assert LINES[0] in error


def test_a_catalogue_that_an_extension_imports_too_early_is_named(folder: Path) -> None:
    extension(folder / "early", "from entropy_sentinel.judges.judge_registry import KINDS\n\n" + JUDGES)
    for registry in ("judges.judge_registry", "features.feature_registry"):
        code = f"""
import json
import entropy_sentinel.{registry}
import entropy_sentinel.study.config.study_config
from entropy_sentinel.core.extensions import list_failures, load_declarations

print(json.dumps([list_failures(), list(load_declarations("judges"))]))
"""
        [line], judges = printed(folder, code, folder / "early")
        assert line.startswith(f"extension '{folder / 'early'}' was not loaded: {folder / 'early' / '__init__.py'}:1: ")
        assert "import it inside the functions" in line
        assert "letter" not in judges


ANALYSIS = '''
from entropy_sentinel.core.analysis import Analysis


def analyses():
    return {"lengths": Lengths}


class Lengths(Analysis):
    """Lengths."""

    TELLS = "how long the responses are"
'''
PAGE = "import nothing_there\n\ndef write_page(labels, long, page):\n    pass\n"
RULES = """
use rule cpu_job as lengths_page with:
    input:
        labels=expand(LABELS, judge=JUDGES, benchmark=BENCHMARKS, allow_missing=True),
    output:
        page=f"{RESULTS}/lengths/{{model}}.html",
    log:
        f"{LOGS}/lengths/{{model}}.log",
    params:
        **calls("mine.page.write_page"),
        long=5,
"""
TARGET = "TARGETS += expand(f'{RESULTS}/lengths/{{model}}.html', model=MODELS)\n"


@pytest.mark.long
@pytest.mark.parametrize(
    ("rules", "status", "said"),
    [
        (RULES + TARGET, 0, []),
        (RULES, 0, ["analysis 'lengths': ", "mine/rules.smk adds no files to TARGETS"]),
        (
            RULES + TARGET.replace("+=", "="),
            1,
            ["analysis 'lengths': ", "mine/rules.smk must add its files to TARGETS"],
        ),
        (
            RULES.replace("page=f", "f'{RESULTS}/rows/{{model}}.csv',\n        page=f") + TARGET,
            1,
            ["rule 'lengths_page' (", "mine/rules.smk): nothing requests its output ", "/rows/{model}.csv, so "],
        ),
        (
            RULES.replace("long=5", "lonh=5") + TARGET,
            1,
            ["rule 'lengths_page'", "mine/rules.smk", "mine.page.write_page(labels, long, page)", "'long'", "'lonh'"],
        ),
    ],
    ids=["as it should be", "no target", "all targets replaced", "another file", "another parameter"],
)
def test_mistakes_in_the_rules_of_an_analysis_are_told_while_planning(
    folder: Path, rules: str, status: int, said: list[str]
) -> None:
    files = {"__init__.py": ANALYSIS + JUDGES, "page.py": PAGE, "rules.smk": rules}
    for name, text in files.items():
        (folder / "mine" / name).write_text(text)
    analyses = ["responses", "lengths"]
    planning, output = planned(folder, study(folder, {"run": STUDY["run"] | {"analyses": analyses}}))
    assert planning == status
    for fact in said:
        assert fact in output
    assert ("mine/rules.smk" in output) == bool(said)


def test_the_schema_has_the_keys_of_a_studys_extensions(folder: Path) -> None:
    config = study(folder, {"run": "not a section"})  # a schema helps whoever has such an error
    plain, own = (command(folder, "schema", *words) for words in ([], ["-c", config]))
    assert (plain[0], plain[2], own[0], own[2]) == (0, "", 0, "")
    assert "letter: the one to look for" in own[1]
    assert "letter: the one to look for" not in plain[1]
    assert command(folder, "schema", "-c", config, "-o", "schema.json")[0] == 0
    assert (folder / "schema.json").read_text() == own[1]
    status, _, errors = command(folder, "schema", "-c", "absent.yaml")
    assert (status, errors.count("\n")) == (1, 1)
    # The monitor's config names extensions, too.
    (folder / "monitor.yaml").write_text("extensions: [mine]")
    status, output, errors = command(folder, "schema", "monitor", "-c", "monitor.yaml")
    assert (status, errors) == (0, "")
    assert "extensions" in json.loads(output)["properties"]


@pytest.mark.long
def test_a_judge_without_a_version_is_told_by_snakemake_and_the_command(folder: Path) -> None:
    (folder / "mine" / "letter.py").write_text(LETTER.replace("    VERSION: ClassVar[int] = 1\n", ""))
    config = study(folder)
    status, _, errors = command(folder, "plan", "-c", config)
    assert status == 0
    [line] = errors.splitlines()
    assert line.startswith(
        "judges.mine: edits of its code rebuild no labels, because mine.letter.Letter has no VERSION"
    )
    status, output = planned(folder, config)
    assert (status, output.count(line)) == (0, 1)


SUBCOMMAND = """
def commands():
    import typer

    app = typer.Typer(help="Several.")

    @app.command()
    def first():
        print("first of several")

    @app.command()
    def second():
        print("second of several")

    return {"hello": hello, "several": app}


def hello(name: str, loud: bool = False):
    \"\"\"Greet somebody.\"\"\"
    print(name.upper() if loud else name)
"""


def test_subcommands_of_an_extension_are_in_the_help_and_run(folder: Path) -> None:
    extension(folder / "greeting", SUBCOMMAND)
    status, output, errors = command(folder, "--help", variable="greeting")
    assert (status, errors) == (0, "")
    words = output.split()
    assert words[words.index("hello") :][:3] == ["hello", "Greet", "somebody."]
    assert words[words.index("several") :][:2] == ["several", "Several."]
    assert command(folder, "hello", "you", "--loud", variable="greeting") == (0, "YOU\n", "")
    assert command(folder, "several", "second", variable="greeting") == (0, "second of several\n", "")


@pytest.mark.parametrize(
    ("returned", "fact"),
    [
        ('{"hello": dict}', "commands(): 'hello' must be "),
        ('{"hello": 3}', "commands(): 'hello' must be "),
        ('{"plan": print}', "two extensions declare 'plan' in commands()"),
        ('{"hello": hello}', "commands(): 'hello': NameError"),
    ],
)
def test_a_wrong_subcommand_is_named_without_a_traceback(folder: Path, returned: str, fact: str) -> None:
    init = f"def commands():\n    return {returned}\n\n\ndef hello(one: 'Missing'):\n    pass\n"
    extension(folder / "greeting", init)
    status, _, errors = command(folder, "--help", variable="greeting")
    assert status == 1
    assert fact in errors
    assert str(folder / "greeting" / "__init__.py") in errors
    assert len(errors.splitlines()) == 1


BENCHMARKS = """
def benchmarks():
    return {{"given": {}}}
"""


@pytest.mark.long
def test_a_benchmark_of_an_extension_is_known_and_the_config_is_above_it(folder: Path) -> None:
    rows = '{"path": "rows.jsonl", "question": ["{question}"], "reference": ["{answer}"]}'
    extension(folder / "rows", BENCHMARKS.format(rows))
    shutil.copy(folder / "traces" / "rows.parquet", folder / "traces" / "given.parquet")
    changes = {"extensions": ["mine", "rows"], "run": STUDY["run"] | {"benchmarks": ["given"]}, "benchmarks": {}}
    status, output = planned(folder, study(folder, changes))
    assert (status, output.split()[output.split().index("generation") :][:2]) == (0, ["generation", "1"])
    # A key of the config counts; the source of the config replaces the other kind of source.
    for own, fact in (
        ({"path": "absent.jsonl"}, "benchmarks.given.path: "),
        ({"dataset": "somebody/rows", "split": "train"}, None),
        ({"limit": 7}, None),
    ):
        code = """
import json
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.core.errors import ConfigError

try:
    config = load_config(read_config(["config.yaml", "study.yaml"]))
    print(json.dumps(config.benchmarks["given"].model_dump(exclude_unset=True)))
except ConfigError as error:
    print(json.dumps(str(error)))
"""
        study(folder, changes | {"benchmarks": {"given": own}})
        found = printed(folder, code, folder / "mine", folder / "rows")
        if fact:
            assert fact in found
        else:
            expected = {"question": ["{question}"], "reference": ["{answer}"]} | own
            assert found == (expected if "dataset" in own else expected | {"path": "rows.jsonl"})


@pytest.mark.parametrize(
    ("section", "fact"),
    [
        ('{"path": "rows.jsonl"}', "benchmarks.given.question: must be set"),
        ('{"path": "rows.jsonl", "question": ["{q}"], "speed": 1}', "benchmarks.given: unknown key 'speed'"),
        ('["rows.jsonl"]', "benchmarks(): 'given' must be "),
    ],
)
def test_a_wrong_benchmark_of_an_extension_is_named_with_its_file(folder: Path, section: str, fact: str) -> None:
    extension(folder / "rows", BENCHMARKS.format(section))
    status, _, errors = command(folder, "plan", "-c", study(folder, {"extensions": ["mine", "rows"]}))
    assert status == 1
    assert fact in errors
    assert f"rows ({folder / 'rows' / '__init__.py'})" in errors
    assert len(errors.splitlines()) == 1


def test_a_judge_of_a_folder_runs_in_a_separate_process(folder: Path) -> None:
    code = """
import json
from entropy_sentinel.core.extensions import find_roots
from entropy_sentinel.judges.judge_interface import Case
from entropy_sentinel.judges.separate_process import SeparateProcess

find_roots()
from mine.letter import LetterJudge

with SeparateProcess(LetterJudge, "a") as judge:
    cases = [Case("?", response, "1", truncated=False) for response in ("banana", "b")]
    print(json.dumps([judge.software, [one.label for one in judge.judge(cases)]]))
"""
    assert printed(folder, code, folder / "mine") == ["letter", [True, False]]


def test_a_job_calls_a_function_of_an_extension(folder: Path) -> None:
    (folder / "mine" / "tables.py").write_text("def write(made, output):\n    open(output, 'w').write(made)\n")
    code = """
import json
from types import SimpleNamespace
from entropy_sentinel.study.jobs.job_calls import call_function

class Files(list):
    def items(self):
        return []

class Params(dict):
    call = "mine.tables.write"

job = SimpleNamespace(params=Params(made="yes"), input=Files(), output=Files(["made.txt"]), wildcards={}, threads=1)
call_function(job)
print(json.dumps(open("made.txt").read()))
"""
    assert printed(folder, code, folder / "mine") == "yes"
