"""The stage that labels: what a judge is shown."""

import json
from pathlib import Path

import polars as pl
import pytest
from item_files import write_items

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.judges.judge_interface import Verdict
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import FITTING_KIND, LABELS
from entropy_sentinel.study.jobs.job_inputs import check_inputs
from entropy_sentinel.study.stages import label_stage as stages_label
from entropy_sentinel.study.stages.label_stage import label_responses, write_labels


class Recorder:
    """A judge that keeps its cases and cannot say."""

    software = "none"

    def judge(self, cases):
        self.cases = cases
        return [Verdict(None, reason="no opinion") for _ in cases]


def test_every_response_that_was_begun_and_not_ended_is_truncated() -> None:
    """At the limit or for another reason; one that the engine refused was never begun."""
    reasons = ["stop", "length", "content_filter", "tool_calls", "refused: too long"]
    items = pl.DataFrame({"item_id": ["a-00000"], "question": ["2 + 2?"], "reference": ["4"]})
    responses = pl.DataFrame({"item_id": "a-00000", "sample": range(5), "text": "four", "finish_reason": reasons})
    judge = Recorder()
    frame, _ = label_responses(items, responses, judge)
    assert [case.truncated for case in judge.cases] == [False, True, True, True, False]
    assert frame["reason"].to_list() == ["no opinion"] * 5


def test_a_judge_is_shown_what_has_a_reference() -> None:
    """Of items b, a (without a reference) and c, with two responses to the last."""
    items = pl.DataFrame({"item_id": ["a", "b", "c"], "question": ["1?", "2?", "3?"], "reference": [None, "2", "3"]})
    responses = pl.DataFrame({"item_id": ["b", "a", "c", "c"], "sample": [0, 0, 0, 1], "text": ["B", "A", "C", "D"]})
    judge = Recorder()
    frame, exchanges = label_responses(items, responses.with_columns(finish_reason=pl.lit("stop")), judge)
    assert (LABELS.check(frame) is frame, exchanges) == (True, [])
    assert [(case.response, case.reference) for case in judge.cases] == [("B", "2"), ("C", "3"), ("D", "3")]
    assert frame.select("item_id", "sample", "label", "reason").rows() == [
        ("b", 0, None, "no opinion"),
        ("a", 0, None, "no reference"),
        ("c", 0, None, "no opinion"),
        ("c", 1, None, "no opinion"),
    ]


def write_inputs(folder: Path, references: list[str | None]) -> tuple[str, str]:
    """Items with these references and a response to each, as files."""
    ids = [f"a-{number:05d}" for number in range(len(references))]
    fixed = {"seed": 0, "run": 0, "prompt_hash": "", "prompt_tokens": 1, "n_tokens": 0, "trace_start": 0}
    empty = {"token_ids": None, "token_logprobs": [], "top_logprobs": [], "top_token_ids": None, "displaced_steps": 0}
    rows = [{"item_id": i, "sample": 0, "text": "\\boxed{4}", "finish_reason": "stop"} | fixed | empty for i in ids]
    GENERATIONS.write(GENERATIONS.frame(rows), folder / "generations.parquet", {})
    return write_items(folder, ids, reference=references), str(folder / "generations.parquet")


def test_references_of_a_part_give_labels_on_that_part(tmp_path: Path) -> None:
    output = str(tmp_path / "labels.parquet")
    write_labels(*write_inputs(tmp_path, ["4", None, "5"]), {"kind": "math-verify"}, output)
    rows = LABELS.read(output, ["label", "reason"]).rows()
    assert rows == [(True, None), (None, "no reference"), (False, None)]
    assert read_provenance(output)["judge_version"].startswith("math-verify ")


@pytest.mark.parametrize(
    ("references", "kind"),
    [(["Rayleigh scattering of sunlight by air molecules"] * 2, "llm"), (["4", "5"], None), ([None, None], None)],
)
def test_a_file_without_any_label_says_which_kind_of_judge_suits(
    tmp_path: Path, references: list[str | None], kind: str | None
) -> None:
    output = str(tmp_path / "labels.parquet")
    write_labels(*write_inputs(tmp_path, references), {"kind": "math-verify"}, output)
    assert read_provenance(output).get(FITTING_KIND) == kind


def test_without_any_reference_there_is_no_judge(tmp_path: Path) -> None:
    """No judge is of the kind `broken`: to make one is an error."""
    output = tmp_path / "labels.parquet"
    write_labels(*write_inputs(tmp_path, [None, None]), {"kind": "broken"}, str(output))
    assert LABELS.read(output)["reason"].to_list() == ["no reference"] * 2
    assert read_provenance(output)["judge_version"] is None
    with pytest.raises(KeyError, match="broken"):
        write_labels(*write_inputs(tmp_path, [None, "4"]), {"kind": "broken"}, str(output))


class Unsure:
    """A judge that reads a verdict in no reply, or in all."""

    software = "unsure 1"

    def __init__(self, label: bool | None) -> None:
        self.label = label

    def judge(self, cases):
        assert {(case.model, case.benchmark) for case in cases} == {("m", "a")}
        message = {"messages": [{"role": "user", "content": "?"}], "reply": "perhaps"}
        return [Verdict(self.label, reason="no judgement", exchange=None if self.label else message) for _ in cases]


def test_exchanges_without_a_label_are_next_to_the_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    items, generations = write_inputs(tmp_path, ["4", None, "5"])
    GENERATIONS.write(GENERATIONS.read(generations), generations, {"model": "m", "benchmark": "a"})
    output, beside = tmp_path / "labels.parquet", tmp_path / "labels.unreadable.jsonl"
    for judge, ids in ((Unsure(None), ["a-00000", "a-00002"]), (Unsure(True), [])):
        monkeypatch.setattr(stages_label, "make_judge", lambda settings, judge=judge: judge)
        write_labels(items, generations, {"kind": "llm"}, str(output))
        kept = [json.loads(line) for line in beside.read_text().splitlines()] if beside.exists() else []
        assert [one["item_id"] for one in kept] == ids
        assert all(one["reply"] == "perhaps" and one["sample"] == 0 for one in kept)


def test_labels_of_a_benchmarks_own_judge_belong_at_the_place_of_the_judge_that_it_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    output = "results/s/labels/math-verify/m/a.parquet"
    inputs = write_inputs(tmp_path, ["4", "5"])
    own = {"version": 2, "judge": "letters", "kind": "exact"}
    write_labels(*inputs, {**own, "replaces": "math-verify"}, output)
    check_inputs([output])
    facts = read_provenance(output)
    assert (facts["judge"], facts["labelled_by"], facts["kind"]) == ("math-verify", "letters", "exact")
    # Without the place it is a file of another judge.
    write_labels(*inputs, own, output)
    with pytest.raises(ContractError, match="must be of judge 'math-verify', is of 'letters'"):
        check_inputs([output])
