"""Statistics and outputs that an extension declares: in rows, files, help, alerts and states, and what is refused."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from extended import extension, ran
from production import line, log_file, saved

from entropy_sentinel.monitor.slice_columns import CATALOGUE

pytestmark = pytest.mark.slow

RULES = Path(__file__).parents[2] / "workflow" / "monitor.smk"
INIT = r"""
def statistics():
    import polars as pl
    from entropy_sentinel.monitor.column_declaration import Statistic

    has_text = pl.col("text").is_not_null()
    return {
        "n_with_text": Statistic("n_with_text", "Responses with a text.", "responses", each=has_text),
        "refused_share": Statistic(
            name="refused_share",
            meaning="Share of the responses that the model refused.",
            unit="1",
            metric="refused_share",
            each=pl.col("text").str.starts_with("I cannot"),
            of="n_with_text",
            heading="refused",
            flag="often refused",
            flagged="are refusals",
        ),
    }


def outputs():
    from entropy_sentinel.monitor.showing.output_declaration import Output
    from mine.lines import check, write

    return {"lines": Output("lines", "A line for each alert.", write, files=("lines.txt",), check=check)}
"""
LINES = r"""
from entropy_sentinel.core.errors import InputError


def check(path):
    if path.suffix != ".txt":
        raise InputError(f"{path}: must end with .txt")


def write(result, path):
    path.write_text("".join(f"{alert['kind']} {alert['slice']['route']}\n" for alert in result.alerts))
"""
# Of the eight responses from the shop two are refusals, of the five from the school none.
TEXTS = {True: "I cannot help.", False: "It costs 5."}
RECORDS = [line(number, route="shop", text=TEXTS[number < 2]) for number in range(8)]
RECORDS += [line(number, route="school") for number in range(8, 13)]


def call(*arguments: str | Path) -> str:
    return f"from entropy_sentinel.cli.main import main; main({list(map(str, arguments))!r})"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the extension, an estimator, and a log."""
    folder = tmp_path_factory.mktemp("declared")
    extension(folder / "mine", INIT, lines=LINES)
    saved(folder, "atc-se_sum")
    log_file(folder / "log.jsonl", RECORDS)
    return folder


def test_a_monitor_has_the_declared_statistic_and_writes_the_declared_output(folder: Path) -> None:
    words = ["monitor", "atc-se_sum.estimator", "log.jsonl", "--by", "route", "--min-responses", "2"]
    files = ["-o", "rows.csv", "--metrics", "metrics.prom", "--lines", "lines.txt"]
    done = ran(folder, call(*words, *files, "--alert-on", "often-refused"), folder / "mine")
    assert done.returncode == 4, done.stderr
    rows = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    found = {row["route"]: (row["n_with_text"], row["refused_share"], row["flag_codes"]) for row in rows}
    assert {route: values[:2] for route, values in found.items()} == {"shop": ("8", "0.25"), "school": ("5", "0.0")}
    assert ["often-refused" in found[route][2] for route in ("shop", "school")] == [True, False]
    names = list(rows[0])
    place = names.index("cut_off_share")
    assert names[place + 1 : place + 4] == ["n_with_text", "refused_share", "n_questions"]
    assert [name for name in names if name in CATALOGUE] == [name for name in CATALOGUE if name in names]
    metrics = (folder / "metrics.prom").read_text()
    assert re.search(r'^entropy_sentinel_refused_share\{.*route="shop".*\} 0.25$', metrics, re.MULTILINE)
    assert (folder / "lines.txt").read_text() == "often-refused shop\n"
    assert "refused" in done.stdout
    help_text = " ".join(ran(folder, call("monitor", "--help"), folder / "mine").stdout.replace("│", " ").split())
    for part in ("--lines", "A line for each alert.", "often-refused, many responses that are refusals"):
        assert part in help_text
    done = ran(folder, call(*words, "--lines", "lines.md"), folder / "mine")
    assert (done.returncode, "lines.md: must end with .txt" in done.stderr) == (1, True)


@pytest.mark.long
def test_the_workflow_writes_the_output_and_follows_its_code(folder: Path, tmp_path: Path) -> None:
    mine = extension(tmp_path / "mine", INIT, lines=LINES)
    options = {"by": ["route"], "min_responses": 2, "alert_on": ["often-refused"]}
    settings = {"estimator": str(folder / "atc-se_sum.estimator"), "logs": [str(folder / "log.jsonl")]}
    (tmp_path / "monitor.json").write_text(json.dumps(settings | {"folder": "out", "options": options}))

    def snakemake(*arguments: str) -> str:
        call = ["-m", "snakemake", "-s", str(RULES), "--cores", "1", "--configfile", "monitor.json", *arguments]
        environment = os.environ | {"PYTHONPATH": str(RULES.parent), "ENTROPY_SENTINEL_EXTENSIONS": str(mine)}
        done = subprocess.run([sys.executable, *call], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    snakemake()
    assert (tmp_path / "out" / "lines.txt").read_text() == "often-refused shop\n"
    assert "rule monitor" not in snakemake("--dry-run")
    (mine / "lines.py").write_text(LINES.replace("{alert['kind']}", "{alert['kind']}:"))
    assert "rule monitor" in snakemake("--dry-run")


WRONG = [
    ("statistics", '{"n_x": 3}', ("'n_x'", "entropy_sentinel.monitor.column_declaration.Statistic", "int")),
    ("statistics", '{"n_x": Statistic("n_y", "m", "u", each=pl.lit(1))}', ("'n_x'", "'n_y'")),
    ("statistics", '{"rank": Statistic("rank", "m", "u", each=pl.lit(1))}', ("'rank'", "another column")),
    ("statistics", '{"My n": Statistic("My n", "m", "u", each=pl.lit(1))}', ("'My n'", "a_name")),
    (
        "statistics",
        '{"x_share": Statistic("x_share", "m", "1", each=pl.lit(1), of="y")}',
        ("'x_share'", "'y'", "n_res"),
    ),
    (
        "statistics",
        '{name: Statistic(name, "m", "u", each=pl.lit(1)) for name in ("n_x", "x_share")}',
        ("'n_x'", "state"),
    ),
    ("statistics", '{"n_x": Statistic("n_x", "m", "u", each=pl.lit(1), flag="stale")}', ("'n_x'", "'stale'")),
    ("outputs", '{"lines": print}', ("'lines'", "entropy_sentinel.monitor.showing.output_declaration.Output")),
    ("outputs", '{"labels": Output("labels", "m", print)}', ("'labels'", "option")),
]


@pytest.mark.parametrize(("kind", "declared", "facts"), WRONG)
def test_a_wrong_declaration_is_refused_with_its_module(
    kind: str, declared: str, facts: tuple[str, ...], tmp_path: Path
) -> None:
    init = f"""
def {kind}():
    import polars as pl
    from entropy_sentinel.monitor.column_declaration import Statistic
    from entropy_sentinel.monitor.showing.output_declaration import Output

    return {declared}
"""
    wrong = extension(tmp_path / "mine_wrong", init)
    error = ran(tmp_path, "import entropy_sentinel.monitor.showing.output_registry", wrong).stderr.splitlines()[-1]
    assert error.startswith("entropy_sentinel.core.errors.ConfigError: ")
    for fact in ("mine_wrong", *facts):
        assert fact in error
