"""Labels made elsewhere, and answers that a judge is shown: `labels.yaml` and `answers.yaml`."""

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from a_study import Study, item_ids, step
from attack_cases import Case, attack, cases, expand, text

from entropy_sentinel.frames.label import LABELS
from entropy_sentinel.judges.judge import Case as Shown
from entropy_sentinel.judges.judge import Verdict

pytestmark = pytest.mark.slow

SPAWN = multiprocessing.get_context("spawn")
# math-verify gives an answer a few seconds, in several steps.
ANSWER_LIMIT_S = 20


def write_traces(path: Path) -> None:
    traces = {
        "item_id": item_ids(),
        "text": ["1", "2", "3"],
        "finish_reason": ["stop"] * 3,
        "token_logprobs": [[-0.5]] * 3,
        "top_logprobs": [[step()]] * 3,
    }
    pl.DataFrame(traces).write_parquet(path)


def write_given(case: Case, path: Path) -> None:
    path.parent.mkdir(parents=True)
    if "hex" in case:
        path.write_bytes(bytes.fromhex(case["hex"]))
        return
    columns: dict[str, Any] = {"item_id": item_ids(), "label": [True, False, True]} | expand(case.get("columns", {}))
    frame = pl.DataFrame({name: values for name, values in columns.items() if name not in case.get("without", [])})
    for name, kind in case.get("as", {}).items():
        frame = frame.with_columns(pl.col(name).cast(getattr(pl, kind)))
    frame.write_parquet(path)


@cases("labels.yaml")
def test_labels(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study(tmp_path)
    write_traces(study.given_traces)
    study.make_items()
    study.make_generations()
    write_given(case, study.given_labels)

    def labels() -> pl.DataFrame:
        study.make_labels()
        return LABELS.check(LABELS.read(study.labels))

    frame = attack(case["expect"], labels)
    if frame is None:
        assert not Path(study.labels).exists()
        return
    assert frame["item_id"].to_list() == item_ids()
    assert frame["label"].is_null().equals(frame["reason"].is_not_null()), "null with a reason, and only then"
    if "labels" in case["expect"]:
        assert frame["label"].to_list() == case["expect"]["labels"]
    for reason, pattern in zip(frame["reason"], case["expect"].get("reasons", []), strict=False):
        assert (reason is None) == (pattern is None)
        assert reason is None or pl.Series([reason]).str.contains(pattern).item(), reason


def _judge(pipe: Connection) -> None:
    """In a process of its own: judge what comes, until nothing does."""
    from entropy_sentinel.judges.math_verify import MathVerifyJudge

    judge = MathVerifyJudge()
    while shown := pipe.recv():
        pipe.send(judge.judge(shown))


class Judge:
    """The judge in another process: math-verify computes in C, where no alarm of ours reaches it."""

    def __init__(self) -> None:
        self.process: Any = None

    def judge(self, shown: list[Shown]) -> list[Verdict]:
        if self.process is None:
            self.pipe, other = SPAWN.Pipe()
            self.process = SPAWN.Process(target=_judge, args=(other,), daemon=True)
            self.process.start()
        self.pipe.send(shown)
        if not self.pipe.poll(ANSWER_LIMIT_S):
            self.stop()
            pytest.fail(f"not judged after {ANSWER_LIMIT_S} s")
        return self.pipe.recv()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.pipe.close()
            self.process = None


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    judge.stop()


@cases("answers.yaml")
def test_answers(case: Case, judge: Judge) -> None:
    shown = Shown("?", text(case["response"]), text(case["reference"]), truncated=case.get("cut", False))
    # Between two plain ones: whatever an answer does, it does to itself alone.
    plain = Shown("?", "\\boxed{7}", "7", truncated=False)
    before, found, after = judge.judge([plain, shown, plain])
    assert (before.label, after.label) == (True, True)
    assert (found.label is None) == (found.reason is not None)
    assert found.label in case["expect"]["label"], found
