"""The demo's benchmark files: made again byte by byte, and the mixed one apart from the others."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

from problems import DOMAINS, MIX, TRAINING

DEMO = Path(__file__).parents[2] / "demo"


def rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DEMO / name).read_text().splitlines()]


def test_the_committed_files_are_what_the_program_writes(tmp_path: Path) -> None:
    """In a process with another hash seed: nothing may depend on it."""
    (tmp_path / "problems.py").write_bytes((DEMO / "problems.py").read_bytes())
    subprocess.run([sys.executable, tmp_path / "problems.py"], check=True, env={"PYTHONHASHSEED": "5"})
    names = [f"benchmarks/{name}.jsonl" for name in (*DOMAINS, "mixed")] + ["truth/mixed.jsonl"]
    names += [f"training/{name}.jsonl" for name in TRAINING]
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jsonl")) == sorted(names)
    for name in names:
        assert (tmp_path / name).read_bytes() == (DEMO / name).read_bytes(), name


def test_mixed_has_new_questions_and_no_answers() -> None:
    mixed, truth = rows("benchmarks/mixed.jsonl"), rows("truth/mixed.jsonl")
    assert [row.keys() for row in mixed] == [{"question"}] * 200
    assert [row["question"] for row in mixed] == [row["question"] for row in truth]
    others = [row["question"] for name in DOMAINS for row in rows(f"benchmarks/{name}.jsonl")]
    questions = {row["question"] for row in mixed}
    assert (len(questions), len(others)) == (200, 2000)
    assert not questions & set(others)
    assert Counter(row["domain"] for row in truth) == MIX
    assert truth[2]["question"] == "Sam had 489 beads and gave away 179. How many beads are left?"
    assert truth[2]["answer"] == "310"
