"""Judges made of others: who decides, what is null and why, and who is asked about what."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.judges.composite import combine_first, combine_majority
from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.label_requests import judge_settings, list_labels_files
from entropy_sentinel.study.stages import label_stage as stages_label
from entropy_sentinel.study.stages.label_stage import write_labels

PAPER = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())


class Says:
    """A member that gives the verdicts of a text, one letter a response: c(orrect), i(ncorrect), n(ull)."""

    def __init__(self, verdicts: str, reason: str = "cannot say") -> None:
        self.verdicts, self.reason, self.asked = verdicts, reason, []

    def __call__(self, responses: pl.DataFrame) -> pl.DataFrame:
        ids = responses["item_id"].to_list()
        self.asked += ids
        message = [{"c": True, "i": False, "n": None}[self.verdicts[int(id_)]] for id_ in ids]
        reasons = [None if one is not None else self.reason for one in message]
        answers = [f"{self.verdicts[int(one)]}{one}" for one in ids]
        keys = responses.select("item_id", "sample").to_dict(as_series=False)
        return LABELS.frame(keys | {"label": message, "reason": reasons, "answer": answers})


def responses(n: int) -> pl.DataFrame:
    return pl.DataFrame(
        {"item_id": list(map(str, range(n))), "sample": [0] * n}, schema_overrides={"sample": pl.UInt16}
    )


def test_first_of_asks_each_about_what_is_left() -> None:
    exact, model, people = Says("cninn", "no answer"), Says("iicnn", "no reply"), Says("iiiin", "skipped")
    frame, counts = combine_first({"exact": exact, "model": model, "people": people}, responses(5))
    LABELS.check(frame)
    assert frame.select("item_id", "label", "decided_by", "answer").rows() == [
        ("0", True, "exact", "c0"),
        ("1", False, "model", "i1"),
        ("2", False, "exact", "i2"),
        ("3", False, "people", "i3"),
        ("4", None, None, "n4"),
    ]
    assert frame["reason"].to_list() == [None] * 4 + ["exact: no answer; model: no reply; people: skipped"]
    assert (exact.asked, model.asked, people.asked) == (list("01234"), ["1", "3", "4"], ["3", "4"])
    assert counts == {
        "exact": {"asked": 5, "labelled": 2, "decided": 2},
        "model": {"asked": 3, "labelled": 1, "decided": 1},
        "people": {"asked": 2, "labelled": 1, "decided": 1},
    }


def test_first_of_does_not_ask_where_nothing_is_left() -> None:
    second = Says("cc")
    frame, counts = combine_first({"a": Says("ic"), "b": second}, responses(2))
    assert (frame["label"].to_list(), second.asked) == ([False, True], [])
    assert counts["b"] == {"asked": 0, "labelled": 0, "decided": 0}
    empty, _ = combine_first({"a": Says(""), "b": Says("")}, responses(0))
    assert LABELS.check(empty).is_empty()


def test_majority_is_more_than_half_of_all_members() -> None:
    """Of three members: two of one mind decide, a tie beside a null and a lone verdict do not."""
    members = {"a": Says("cciicn"), "b": Says("cicinn"), "c": Says("cncnnn")}
    frame, counts = combine_majority(members, responses(6))
    LABELS.check(frame)
    assert frame.select("label", "decided_by", "reason").rows() == [
        (True, "a, b, c", None),
        (None, None, "no majority: 1 correct, 1 incorrect, 1 null"),
        (True, "b, c", None),
        (False, "a, b", None),
        (None, None, "no majority: 1 correct, 0 incorrect, 2 null"),
        (None, None, "cannot say"),
    ]
    # The answer of the first that is with the majority.
    assert frame["answer"].to_list()[2] == "c2"
    assert counts == {
        "a": {"asked": 6, "labelled": 5, "decided": 2},
        "b": {"asked": 6, "labelled": 4, "decided": 3},
        "c": {"asked": 6, "labelled": 2, "decided": 2},
    }


def test_a_response_that_addresses_the_judge_is_marked_in_its_label() -> None:
    """Of the first member's verdict where it has one; of any member's where all are counted."""

    def warned(about: pl.DataFrame) -> pl.DataFrame:
        return Says("cn")(about).with_columns(caution=pl.lit("a judgement in it is quoted"))

    by_first, _ = combine_first({"llm": warned, "b": Says("ci")}, responses(2))
    assert by_first["caution"].to_list() == ["a judgement in it is quoted", None]
    by_all, _ = combine_majority({"a": Says("cn"), "b": Says("cn"), "llm": warned}, responses(2))
    assert by_all["caution"].to_list() == ["a judgement in it is quoted"] * 2
    assert by_all["label"].to_list() == [True, None]


def test_half_of_the_members_is_no_majority() -> None:
    frame, _ = combine_majority({"a": Says("ci"), "b": Says("ii")}, responses(2))
    assert frame["label"].to_list() == [None, False]


def study(judges: dict[str, Any], run: list[str], **changes: Any) -> dict[str, Any]:
    return PAPER | {"judges": PAPER["judges"] | judges, "run": PAPER["run"] | {"judges": run}} | changes


@pytest.mark.parametrize(
    ("judges", "expected"),
    [
        (
            {"x": {"kind": "first_of", "judges": ["math-verify", "llm"]}},
            "unknown judge in judges.x.judges: 'llm'; known: grok, math-verify",
        ),
        (
            {"x": {"kind": "majority", "judges": ["math-verify", "x"]}},
            "judges.x.judges: a judge must not be part of itself, got x -> x",
        ),
        ({"x": {"kind": "first_of", "judges": ["math-verify"]}}, "judges.x.judges: must have at least 2 items"),
    ],
)
def test_refusals(judges: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(study(judges, ["math-verify"]), "config.yaml")
    assert expected in str(error.value)


def write_study(folder: Path, texts: list[str], references: list[str | None]) -> tuple[str, str]:
    """Items with these references and responses of model `m` to them, as files."""
    ids = [f"gsm8k-{number:05d}" for number in range(len(texts))]
    fixed = {"seed": 0, "run": 0, "prompt_hash": "", "prompt_tokens": 1, "n_tokens": 0, "trace_start": 0}
    empty = {"token_ids": None, "token_logprobs": [], "top_logprobs": [], "top_token_ids": None, "displaced_steps": 0}
    rows = [
        {"item_id": one, "sample": 0, "text": text, "finish_reason": "stop"} | fixed | empty
        for one, text in zip(ids, texts, strict=True)
    ]
    items = {"item_id": ids, "question": ids, "reference": references, "duplicate_of": ids}
    BENCHMARKS.write(BENCHMARKS.frame(items), folder / "items.parquet", {})
    origin = {"model": "m", "benchmark": "gsm8k"}
    GENERATIONS.write(GENERATIONS.frame(rows), folder / "generations.parquet", origin)
    return str(folder / "items.parquet"), str(folder / "generations.parquet")


def people(folder: Path, name: str, labels: list[bool | None]) -> dict[str, str]:
    """A judge of kind file, and its file of labels of responses from the last to the first."""
    path = folder / name / "m" / "gsm8k.parquet"
    path.parent.mkdir(parents=True)
    ids = [f"gsm8k-{number:05d}" for number in range(len(labels))]
    pl.DataFrame({"item_id": ids[::-1], "label": labels[::-1]}, schema_overrides={"label": pl.Boolean}).write_parquet(
        path
    )
    return {"kind": "file", "path": str(folder / name)}


def test_exact_judge_first_then_people_through_the_stage(tmp_path: Path) -> None:
    """Right, wrong, no answer to be read, and no reference; the people have labels for the last two and the first."""
    files = write_study(tmp_path, ["\\boxed{4}", "\\boxed{5}", "", "\\boxed{7}"], ["4", "4", "4", None])
    judges = {
        "people": people(tmp_path, "people", [False, None, True, True]),
        "others": people(tmp_path, "others", [True, False, True, False]),
        "cascade": {"kind": "first_of", "judges": ["math-verify", "people"]},
        "all": {"kind": "majority", "judges": ["cascade", "people", "others"]},
    }
    models, benchmarks = {"m": PAPER["models"]["qwen3-4b"]}, {"gsm8k": PAPER["benchmarks"]["gsm8k"]}
    raw = study(
        judges, ["all", "cascade"], models=models, benchmarks=benchmarks | {"math": PAPER["benchmarks"]["math"]}
    )
    raw["run"] |= {"models": ["m"], "benchmarks": ["gsm8k", "math"], "groups": []}
    raw["groups"], raw["analyses"] = {}, {}
    for name in ("people", "others"):
        (tmp_path / name / "m" / "math.parquet").touch()
    config = load_config(raw)
    settings, output = judge_settings(config, "cascade"), tmp_path / "cascade.parquet"
    assert settings == {
        "version": 1,
        "judge": "cascade",
        "kind": "first_of",
        "judges": ["math-verify", "people"],
        "members": {name: judge_settings(config, name) for name in ("math-verify", "people")},
    }
    sources = list_labels_files(config, "cascade", "m", "gsm8k")
    assert sources == [str(tmp_path / "people" / "m" / "gsm8k.parquet")]
    write_labels(*files, settings, str(output), sources)
    assert LABELS.read(output, ["label", "decided_by"]).rows() == [
        (True, "math-verify"),
        (False, "math-verify"),
        (True, "people"),
        (True, "people"),
    ]
    counts = read_provenance(output)["counts"]
    assert (counts["math-verify"]["asked"], counts["math-verify"]["decided"]) == (3, 2)
    assert counts["math-verify"]["judge_version"].startswith("math-verify ")
    assert (counts["people"]["asked"], counts["people"]["decided"]) == (2, 2)

    # One of the members of `all` is made of others itself; both files are among its sources.
    write_labels(*files, judge_settings(config, "all"), str(output), list_labels_files(config, "all", "m", "gsm8k"))
    assert LABELS.read(output, ["label", "decided_by"]).rows() == [
        (True, "cascade, others"),
        (False, "cascade, others"),
        (True, "cascade, people, others"),
        (True, "cascade, people"),
    ]
    assert read_provenance(output)["counts"]["cascade"]["counts"]["people"]["asked"] == 2


def test_labels_written_before_are_read(tmp_path: Path) -> None:
    """Files without the column `decided_by`."""
    frame = LABELS.frame({"item_id": ["a"], "sample": [0], "label": [True], "reason": [None], "answer": ["4"]})
    LABELS.write(frame, tmp_path / "new.parquet", {})
    pl.read_parquet(tmp_path / "new.parquet").drop("decided_by", strict=False).write_parquet(tmp_path / "old.parquet")
    assert LABELS.read(tmp_path / "old.parquet").equals(frame)
    assert LABELS.read(tmp_path / "old.parquet", ["label"]).rows() == [(True,)]


class Model:
    """Stands in for a server: says correct, and nothing of the second response that it is shown."""

    software = "model 1"

    def judge(self, cases: list[Case]) -> list[Verdict]:
        self.cases = cases
        silent = Verdict(None, reason="no judgement", exchange={"messages": [], "reply": "perhaps"})
        return [silent if number == 1 else Verdict(True) for number, _ in enumerate(cases)]


def test_a_server_is_asked_only_where_the_exact_judge_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_study(tmp_path, ["\\boxed{4}", "", "", "\\boxed{4}"], ["4", "4", "4", None])
    judges = {"server": {"kind": "llm"}, "cascade": {"kind": "first_of", "judges": ["math-verify", "server"]}}
    settings = judge_settings(load_config(study(judges, ["cascade"])), "cascade")
    assert settings["members"]["server"]["llm"]["model"] == "xai/grok-4-1-fast-reasoning"
    assert settings["members"]["server"]["judge"] == "server"
    server, make = Model(), stages_label.make_judge
    monkeypatch.setattr(stages_label, "make_judge", lambda one: server if one["kind"] == "llm" else make(one))
    output = tmp_path / "labels.parquet"
    write_labels(*files, settings, str(output))
    assert [(case.response, case.model) for case in server.cases] == [("", "m"), ("", "m")]
    assert LABELS.read(output, ["label", "decided_by"]).rows() == [
        (True, "math-verify"),
        (True, "server"),
        (None, None),
        (None, None),
    ]
    reasons = LABELS.read(output)["reason"].to_list()
    assert reasons == [None, None, "math-verify: empty response; server: no judgement", "no reference"]
    counts = read_provenance(output)["counts"]
    assert (counts["math-verify"]["asked"], counts["server"]["asked"]) == (3, 2)
    # The exchange that gave no label is kept, with the item that it was about.
    (kept,) = [json.loads(line) for line in (tmp_path / "labels.unreadable.jsonl").read_text().splitlines()]
    assert (kept["item_id"], kept["reply"]) == ("gsm8k-00002", "perhaps")
