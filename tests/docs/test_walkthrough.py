"""The walk-through's blocks, pasted into one shell one after the other; the notebook's cells, run in order."""

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import nbformat
import polars as pl
import pytest
from documented import GUIDE, blocks
from extras import BLOCKED, block_packages
from forked_commands import put_on_path

from made.notebook import run
from made.walkthrough import blocks as walkthrough_blocks
from made.walkthrough import filled

ROOT = Path(__file__).parents[2]
DECIMAL = re.compile(r"(\d+\.\d+(?:e-\d+)?)")
README = ROOT / "README.md"
QUICKSTART = ROOT / "docs" / "quickstart.md"
NOTEBOOK = ROOT / "docs" / "monitor.ipynb"
Paste = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the repository's demo and examples, and no more."""
    for room in ("demo", "examples"):
        (tmp_path / room).symlink_to(ROOT / room)
    return tmp_path


def test_output_of_blocks_is_inserted_below_them() -> None:
    guide = "A.\n\n```sh\none\n```\n\nB.\n\n```sh\ntwo\n```\n\n```text\nold\n```\nC.\n```text\nits own\n```\n"
    assert walkthrough_blocks(guide) == [("one\n", None), ("two\n", "old\n")]
    new = guide.replace("old", "x\n\ny")
    assert filled(guide, ["not shown", "\nx\n\ny\n\n"]) == new
    assert filled(new, ["", "x\n\ny"]) == new


def outputs(notebook: Any) -> str:
    """What the cells of a notebook print and show, as text."""
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return "\n".join(one["text"] if "text" in one else one["data"]["text/plain"] for one in shown)


def is_in(shown: str, printed: str) -> bool:
    """Whether `shown` is a part of what is printed, but for the last digits of decimals: processors differ in these."""
    parts = DECIMAL.split(shown)
    pattern = "".join(DECIMAL.pattern if place % 2 else re.escape(part) for place, part in enumerate(parts))
    result = re.search(pattern, printed)
    numbers = [] if result is None else [float(group) for group in result.groups()]
    return result is not None and numbers == pytest.approx([float(part) for part in parts[1::2]], rel=0.02, abs=0.002)


def test_only_the_last_digits_may_differ() -> None:
    assert is_in("a 0.123 b 2.1e-09", "x\na 0.124 b 2.1e-08 c")
    assert not is_in("a 0.123 b", "a 0.133 b")
    assert not is_in("a 0.123 b", "a 0.123 c")


@pytest.fixture
def paste(folder: Path, forks: str) -> Paste:
    """What bash does with lines that are pasted in `folder`, which has the command; packages may be blocked."""

    def paste(*script: str, blocked: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        block_packages(folder / "blocked", blocked)
        paths = {"PYTHONPATH": f"{folder / 'blocked'}:{ROOT / 'workflow'}", "PATH": put_on_path(folder / "bin", forks)}
        return subprocess.run(["bash", *script], cwd=folder, env=os.environ | paths, capture_output=True, text=True)

    return paste


@pytest.mark.slow
def test_commands_in_the_readme_name_existing_files(folder: Path, paste: Paste) -> None:
    (script,) = (block for block in blocks(README, "") if "entropy-sentinel monitor" in block)
    (asked,) = (line for line in script.splitlines() if line.startswith("entropy-sentinel judge "))
    # In place of people and of a judge with a key.
    programs = (
        "python demo/label.py to_label.csv labelled.csv app/labels.csv",
        "python demo/judge.py to_judge.csv verdicts.csv app/labels.csv",
    )
    done = paste("-c", script.replace(asked, "\n".join(programs)))
    assert "Error" not in done.stderr, done.stderr
    assert {"routes.estimator", "state", "slices.html", "week.csv"} <= {path.name for path in folder.iterdir()}
    assert pl.read_csv(folder / "week.csv").height == 10
    assert "\nno estimator: accuracies rest on" in done.stdout
    assert "\nALERT homework: " in done.stdout


@pytest.mark.long
def test_the_quickstart_can_be_pasted(folder: Path, paste: Paste) -> None:
    done = paste("-e", "-c", "\n".join(blocks(QUICKSTART, "sh")))
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [output for _, output in walkthrough_blocks(QUICKSTART.read_text()) if output is not None]
    assert len(shown) == 7
    for output in shown:
        assert is_in(output, done.stdout), f"make walk-through\n{output}"
    assert re.search("columns +metadata.route", shown[0])
    assert "\nno estimator: accuracies rest on 82 labels" in f"\n{shown[4]}"
    # What the page says of these labels.
    for fact in ("82 labels", "one label counts as 1.6"):
        assert fact in shown[4]
        assert fact in QUICKSTART.read_text().partition(shown[4])[2]
    assert "\nALERT homework: " in shown[5]
    assert "rests on" in shown[6]
    true = true_accuracies(folder)
    # As the page states them.
    assert [round(100 * true[1, name]) for name in ("science", "contest", "exam", "practice", "homework")] == [
        *(14, 10, 34, 55, 63),
    ]
    assert (round(100 * true[2, "homework"]), round(40 * true[2, "chat"])) == (32, 2)
    for line in shown[4].splitlines():
        if (name := line.split(" ")[0]) in ("science", "contest", "exam", "practice", "homework"):
            lower, upper = map(float, re.findall(r"(\d\.\d{3})-(\d\.\d{3})", line)[0])
            assert lower <= true[1, name] <= upper, line
    check_ignored(folder)


def check_ignored(folder: Path) -> None:
    """Each file that the commands wrote into the repository's folder is one that git ignores."""
    patterns = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines() if line.startswith("/")]
    written = {path.name for path in folder.iterdir()} - {"demo", "examples", "bin", "blocked"}
    assert "app" in written
    assert [name for name in sorted(written) if not any(fnmatch(name, pattern) for pattern in patterns)] == []


def true_accuracies(folder: Path) -> dict[tuple[int, str], float]:
    """The share of correct responses among those with a label, by week and route."""
    labels = pl.read_csv(folder / "app" / "labels.csv")
    accuracies: dict[tuple[int, str], float] = {}
    for week in (1, 2):
        log = pl.read_parquet(folder / "app" / "logs" / f"week-{week}.parquet")
        means = log.join(labels, on="item_id").group_by("metadata.route").agg(pl.col("label").mean())
        accuracies |= {(week, name): mean for name, mean in means.iter_rows()}
    return accuracies


@pytest.mark.long
def test_the_walk_through_can_be_pasted(folder: Path, paste: Paste) -> None:
    """It needs none of the extras."""
    scripts = blocks(GUIDE, "sh")
    assert len(scripts) == 4
    done = paste("-e", "-c", "\n".join(scripts), blocked=BLOCKED)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [message for _, message in walkthrough_blocks(GUIDE.read_text()) if message is not None]
    assert len(shown) == 3
    for message in shown:
        assert is_in(message, done.stdout), f"make walk-through\n{message}"
    assert "\nverdict for new slices" in shown[0]
    assert "\nALERT homework: " in shown[1]
    slices = pl.read_parquet(folder / "slices.parquet")
    assert (len(slices), slices["n_responses"].sum()) == (10, 740)
    assert (folder / "slices.html").stat().st_size > 50_000
    check_ignored(folder)


@pytest.mark.long
@pytest.mark.parametrize("started_in", ["docs", pytest.param(".", marks=pytest.mark.nightly)])
def test_the_notebook_runs(folder: Path, started_in: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jupyter starts it in its own folder, an editor in the repository's."""
    (folder / "docs").mkdir()
    monkeypatch.chdir(folder / started_in)
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    there = outputs(notebook)
    names = run(notebook)
    assert is_in(there, outputs(notebook)), "make walk-through"
    # Nobody has labelled the second week for the estimator: it is told from its log-probabilities. Intervals at 90 %
    # hold the truth of three of four routes with a probability of .95, if they hold what they say.
    routes = names["week"].select("item_id", "metadata.route").join(names["labels"], on="item_id")
    truth = dict(routes.group_by("metadata.route").agg(pl.col("label").mean()).iter_rows())
    result = names["newest"].select("metadata.route", "lower", "upper").rows()
    assert len(result) == len(truth) == 5
    assert sum(lower <= truth[route] <= upper for route, lower, upper in result) >= 3
