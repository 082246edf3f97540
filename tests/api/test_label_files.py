"""Labels as people and their programs write them: read, or refused with the file, the row and the value."""

import json
from pathlib import Path

import polars as pl
import pytest
from calling import run
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.api.input_checks import add_labels
from entropy_sentinel.core.errors import InputError

TRUE, FALSE = ("true", "TRUE", "True", "yes", "Yes", "1", " 1 ", "1.0"), ("false", "FALSE", "no", "NO", "0", "0.0")
HARNESS = '{"doc_id": 0, "arguments": [["question"]], '


@pytest.mark.parametrize(("separator", "comma"), [(",", "."), (";", ","), (";", "."), ("\t", ".")])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_tables_of_spreadsheets(tmp_path: Path, separator: str, comma: str, ends: str) -> None:
    rows = [["item_id", "weight", "response", "label"]]
    rows += [
        [f"00{place}", f"2{comma}5", '"a, b; ""c""\n d"', one] for place, one in enumerate([*TRUE, *FALSE, "", "  "])
    ]
    text = ends.join(separator.join(row) for row in rows) + ends
    (tmp_path / "labels.csv").write_bytes(("\ufeff" + text).encode())
    result = es.read_labels(tmp_path / "labels.csv")
    assert result["label"].to_list() == [True] * len(TRUE) + [False] * len(FALSE) + [None, None]
    assert result["item_id"].to_list()[:2] == ["000", "001"]
    assert result["weight"].unique().to_list() == [2.5]


def test_lines_and_parquet(tmp_path: Path) -> None:
    lines = ['{"item_id": 7, "label": 1}', '{"item_id": "8", "label": "no", "text": "a\u2028b"}', '{"item_id": "9"}']
    (tmp_path / "a.jsonl").write_text("\n\n".join(lines))
    assert es.read_labels(tmp_path / "a.jsonl").rows() == [("7", True), ("8", False), ("9", None)]
    for values in ([1, 0, None], [1.0, 0.0, float("nan")], ["yes", "no", None], [True, False, None]):
        pl.DataFrame({"item_id": ["7", "8", "9"], "label": values}, strict=False).write_parquet(tmp_path / "a.parquet")
        assert es.read_labels(tmp_path / "a.parquet").rows() == [("7", True), ("8", False), ("9", None)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "item_id,label\nx,1\ny,2\n", "row 2: 'label' .*'2'"),
        ("a.csv", "item_id,label,weight\nx,1,2\ny,0,many\n", "row 2: 'weight' .*'many'"),
        ("a.csv", "item_id,label,weight\nx,1,inf\n", "row 1: 'weight' .*'inf'"),
        ("a.csv", "item_id,label,sample\nx,1,0.5\n", "row 1: 'sample' .*'0.5'"),
        ("a.csv", "item_id,label\nx,1\ny,0,2,5\n", "row 2: .*2 fields.*4"),
        ("a.csv", "id,label\nx,1\n", "column 'item_id' .*: id, label"),
        ("a.csv", "", "column 'item_id' "),
        ("a.csv", 'item_id,label\nx,"1\n', "must be a Parquet, CSV"),
        ("a.jsonl", '{"item_id": "x", "label": [true]}\n', "row 1: 'label' "),
        ("a.jsonl", '{"item_id": "x", "label": true}\n{broken\n', "line 2: "),
        ("a.jsonl", "[1]\n", r"line 1: .*'\[1\]'"),
        ("a.jsonl", '{"item_id": "\\ud83d", "label": true}\n', "row 1: 'item_id' must be text that UTF-8 can hold"),
        ("a.jsonl", HARNESS + '"metrics": 1}\n', "line 1: 'metrics' must be a list of names, got 1"),
        ("a.jsonl", HARNESS + '"metrics": null}\n', "line 1: 'metrics' must be a list of names, got null"),
        ("a.jsonl", HARNESS + '"metrics": [["acc"]]}\n', r"line 1: 'metrics' must be a list of names, got \[\["),
        ("a.jsonl", HARNESS + '"metrics": ["a", "b"], "a": 1, "b": 0}\n', r"line 1: metrics differ \(a, b\)"),
        ("a.parquet", "no parquet", "must be a Parquet, CSV"),
    ],
)
def test_an_invalid_label_is_refused_with_its_row(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=f"^{tmp_path / name}: {message}"):
        es.read_labels(tmp_path / name)


def test_files_with_weights_and_files_with_unlabelled_rows_are_combined(tmp_path: Path) -> None:
    texts = ("item_id,weight,label\n007,2.5,TRUE\n008,4,\n", "item_id,label\n010,\n")
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.csv").write_text(text)
    result = es.read_labels([tmp_path / "0.csv", tmp_path / "1.csv"])
    assert result["item_id"].to_list() == ["007", "008", "010"]
    assert result.select("label", "weight").rows() == [(True, 2.5), (None, 4), (None, None)]


def label_file(folder: Path, name: str, *rows: str, header: str = "item_id,label") -> Path:
    (folder / name).write_text("\n".join([header, *rows]) + "\n")
    return folder / name


def test_the_newest_label_of_several_files_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Without times, the file that is given last; an empty label is no answer and replaces nothing."""
    monday = label_file(tmp_path, "monday.csv", "a,1", "b,1", "c,0", "e,1")
    sunday = label_file(tmp_path, "sunday.csv", "b,0", "c,0", "d,1", "e,")
    result = es.read_labels([monday, sunday])
    assert sorted(result.rows()) == [("a", True), ("b", False), ("c", False), ("d", True), ("e", True)]
    (line,) = [record.getMessage() for record in caplog.records]
    assert "2 responses have labels in several files (1 with labels that differ)" in line
    assert f"b, c from {sunday}" in line
    assert dict(es.read_labels([sunday, monday]).rows())["b"] is True


def test_a_time_of_labelling_decides_before_the_order_of_the_files(tmp_path: Path) -> None:
    header = "item_id,label,labelled_at"
    late = label_file(tmp_path, "a.csv", "x,1,2026-11-09T10:00:00+01:00", "y,1,2026-11-01", header=header)
    early = label_file(tmp_path, "b.csv", "x,0,2026-11-09T08:30:00Z", "y,0,2026-11-02", header=header)
    undated = label_file(tmp_path, "c.csv", "x,0")
    result = es.read_labels([late, early, undated])
    assert sorted(result.rows()) == [("x", True), ("y", False)]
    wrong = label_file(tmp_path, "d.csv", "x,1,2026-11-09", "y,1,yesterday", header=header)
    with pytest.raises(InputError, match=f"{wrong}: row 2: 'labelled_at' .*'yesterday'"):
        es.read_labels(wrong)


def test_two_labels_of_a_response_in_one_file(tmp_path: Path) -> None:
    """Equal ones are one label; if they differ, nothing says which is right."""
    equal = label_file(tmp_path, "equal.csv", "x,1", "y,0", "x,1", "x,")
    assert sorted(es.read_labels(equal).rows()) == [("x", True), ("y", False)]
    other = label_file(tmp_path, "other.csv", "x,1", "y,0", "x,0", "y,1")
    pattern = rf"^{other}: item_id 'x' has different labels in rows 1 \(true\), 3 \(false\); so do 1 more"
    with pytest.raises(InputError, match=pattern):
        es.read_labels([equal, other])


def test_a_table_with_a_label_twice_joins_each_response_once() -> None:
    features = pl.DataFrame({"item_id": ["x", "y"], "sum": [1.0, 2.0]})
    table = pl.DataFrame({"item_id": ["x", "x", "y"], "label": [True, None, True]})
    assert add_labels(features, table)["label"].to_list() == [True, True]


def test_files_with_and_without_the_model_name_the_same_responses(tmp_path: Path) -> None:
    named = label_file(tmp_path, "named.csv", "m,x,1", "m,y,1", header="model,item_id,label")
    short = label_file(tmp_path, "short.csv", "x,0", "z,0")
    assert sorted(es.read_labels([named, short]).rows()) == [("x", False), ("y", True), ("z", False)]


def test_ids_of_evaluations_are_not_those_of_a_log(tmp_path: Path) -> None:
    """Samples of lm-evaluation-harness are numbered within a task: the question tells them apart."""
    files = []
    for task in ("a", "b"):
        sample = {"doc_id": 0, "arguments": [[f"question {task}"]], "metrics": ["acc"], "acc": task == "a"}
        files.append(tmp_path / f"{task}.jsonl")
        files[-1].write_text(json.dumps(sample) + "\n")
    result = es.read_labels(files).select("asked", "label")
    assert sorted(result.rows()) == [("question a", True), ("question b", False)]


@pytest.mark.parametrize("arguments", [5, True, None, [], {}, [7, 8], [[None]], "question"])
def test_a_harness_sample_without_a_prompt_has_no_question(tmp_path: Path, arguments: object) -> None:
    sample = {"doc_id": 0, "arguments": arguments, "metrics": {"acc": 1, "f1": 1}, "acc": 1, "f1": 1.0}
    (tmp_path / "a.jsonl").write_text(json.dumps(sample) + "\n")
    row = es.read_labels(tmp_path / "a.jsonl").row(0, named=True)
    assert (row["item_id"], row["label"], row.get("asked")) == ("0", True, None)


def test_verdicts_of_a_judge_are_refused_wherever_labels_of_people_are_read(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """By each command with the file's name, also beside a file of people's labels; and by each function."""
    people = es.read_labels(TINY.labels)
    verdicts = people.with_columns(judge=pl.lit("some/judge"))
    people.write_csv(tmp_path / "people.csv")
    verdicts.write_csv(tmp_path / "verdicts.csv")
    features, fitted = es.read_features(TINY.traces), tmp_path / "mine.estimator"
    es.save(es.fit(features, people, "atc-max"), fitted)
    both = ["--labels", tmp_path / "people.csv", "--labels", tmp_path / "verdicts.csv"]
    message = f"{tmp_path / 'verdicts.csv'}: {len(people)} labels are verdicts of a judge (column 'judge': some/judge)"
    for call in (["fit", "-e", "atc-max", "-o", tmp_path / "x"], ["estimate", fitted], ["monitor", fitted]):
        status, _, errors = run(capsys, *call, TINY.traces, *both)
        assert status == 1, call
        assert message in " ".join(errors.split()), call
        assert "--judged" in errors, call
    corrected = verdicts.with_columns(judge=pl.when(pl.int_range(pl.len()) < 3).then("judge"))
    for call in (
        lambda: es.fit(features, corrected, "atc-max"),
        lambda: es.estimate(fitted, features, labels=corrected),
        lambda: es.monitor(fitted, features, labels=corrected, labels_at_random=True),
    ):
        with pytest.raises(InputError, match="labels: 3 labels are verdicts of a judge"):
            call()
    nobody = people.with_columns(judge=pl.lit(None, pl.String))
    assert es.fit(features, nobody, "atc-max").metadata.n_training_rows == 160


def test_sample_does_not_take_verdicts_for_labels_of_its_file(tmp_path: Path) -> None:
    from entropy_sentinel.monitor.labelling.label_sheet import write_label_sheet

    verdicts = label_file(tmp_path, "verdicts.csv", "x,1,some/judge", header="item_id,label,judge")
    with pytest.raises(InputError, match="verdicts of a judge"):
        write_label_sheet(pl.DataFrame({"item_id": ["x"], "label": [None]}), verdicts)
    assert verdicts.read_text().endswith("x,1,some/judge\n")
