"""Files of witnesses: what they say, in which form, and what is refused."""

import logging
from pathlib import Path

import polars as pl
import pytest

from entropy_sentinel.api.witness_reading import read_witnesses
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.witness_schema import WitnessKind

OPINIONS = (
    "model,item_id,weight,label,judge,witness,probability,answer,comparable,reason\n"
    "m,1,2.0,true,gpt-b,second-opinion,,Paris,true,\n"
    "m,2,2.0,false,gpt-b,second-opinion,,Rome,false,\n"
    "m,3,2.0,,gpt-b,second-opinion,,,true,no answer\n"
)
VERDICTS = (
    "item_id;label;judge;probability\n1;WAHR;gpt-a;0,75\n2;false;gpt-a;\n3;;gpt-a;0,4\n4;;gpt-a;\n5;true;gpt-c;1\n"
)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_each_model_of_each_kind_is_a_witness(tmp_path: Path) -> None:
    files = [
        written(tmp_path, "opinions.csv", OPINIONS),
        written(tmp_path, "verdicts.csv", VERDICTS.replace("WAHR", "TRUE")),
    ]
    opinion, judge, second = read_witnesses(list(map(str, files)))
    names = [witness.name for witness in (opinion, judge, second)]
    assert names == ["second opinion of gpt-b", "judge gpt-a", "judge gpt-c"]
    assert (opinion.kind, opinion.key) == (WitnessKind.SECOND_OPINION, ["model", "item_id"])
    columns = ["item_id", "label", "value", "weight", "comparable"]
    assert opinion.rows.select(columns).rows() == [("1", True, 1.0, 2.0, True), ("2", False, 0.0, 2.0, False)]
    assert not opinion.has_probabilities
    # Without a probability a verdict is 0 or 1; without a verdict it is whether the probability is at least a half.
    assert judge.rows.select(columns[:3]).rows() == [("1", True, 0.75), ("2", False, 0.0), ("3", False, 0.4)]
    assert judge.has_probabilities
    assert second.rows["value"].to_list() == [1.0]
    # A table is read as a file is.
    assert read_witnesses(pl.read_csv(files[0]))[0].rows.equals(opinion.rows)


def test_the_newest_row_of_a_witness_counts_and_witnesses_stay_apart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = written(tmp_path, "1.csv", "item_id,label,judge\na,true,x\nb,true,x\n")
    new = written(tmp_path, "2.csv", "item_id,label,judge,probability\na,false,x,0.2\na,true,y,0.9\n")
    with caplog.at_level(logging.WARNING):
        first, second = read_witnesses([old, new])
    assert sorted(first.rows.select("item_id", "value").rows()) == [("a", 0.2), ("b", 1.0)]
    assert second.rows.select("item_id", "value").rows() == [("a", 0.9)]
    (message,) = caplog.messages
    assert "judge x: 1 response has labels in several files" in message


def test_files_without_a_model_are_one_witness_named_by_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    weeks = [written(tmp_path, f"week{n}.csv", f"item_id,label\n{n},true\n") for n in (1, 2, 3)]
    (witness,) = read_witnesses(weeks)
    assert witness.name == "judge week1.csv, week2.csv and 1 more"
    assert len(witness.rows) == 3
    assert not caplog.messages
    table = pl.DataFrame({"item_id": ["1"], "label": [True]})
    assert read_witnesses(table)[0].name == "judge"
    named = written(tmp_path, "named.csv", "item_id,label,judge\n1,true,x\n")
    assert [witness.name for witness in read_witnesses([weeks[0], named])] == ["judge week1.csv", "judge x"]
    assert "no column 'judge'" in caplog.messages[0]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ("1,true,x,,1.5", "row 1: 'probability' must be a number from 0 to 1, or empty, got '1.5'"),
        ("1,true,x,,\n2,true,x,,-0.1", "row 2: 'probability' must be"),
        ("1,true,x,,likely", "row 1: 'probability' must be"),
        ("1,true,x,opinion,", "row 1: 'witness' must be one of verdict, second-opinion, got 'opinion'"),
        ("1,true,x,,\n2,true,,,", "row 2: 'judge' must be the model that gave the label"),
        ("1,maybe,x,,", "row 1: 'label' must be true, false"),
        ("1,true,x,,\n1,false,x,,", "item_id '1' has different labels in rows 1 .true., 2 .false."),
    ],
)
def test_a_wrong_value_is_named_with_file_row_and_column(tmp_path: Path, rows: str, problem: str) -> None:
    path = written(tmp_path, "verdicts.csv", f"item_id,label,judge,witness,probability\n{rows}\n")
    with pytest.raises(InputError, match=f"verdicts.csv: {problem}"):
        read_witnesses(path)


def test_a_wrong_value_in_a_table_or_parquet_is_named_too(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item_id": ["a", "b"], "label": [True, None], "judge": "x", "probability": [0.5, 2.0]})
    with pytest.raises(InputError, match="judged: row 2: 'probability' must be from 0 to 1"):
        read_witnesses(frame)
    frame.write_parquet(tmp_path / "verdicts.parquet")
    with pytest.raises(InputError, match="verdicts.parquet: row 2: 'probability'"):
        read_witnesses(tmp_path / "verdicts.parquet")
    with pytest.raises(InputError, match="judged: table 2: column 'label' is missing"):
        read_witnesses([frame[:1], frame.drop("label")])


def test_labels_by_people_are_no_witness_of_themselves(tmp_path: Path) -> None:
    labels = pl.DataFrame({"item_id": ["a", "b", "c"], "label": [True, False, None]})
    copied = labels.reverse()
    copied.write_parquet(tmp_path / "copy.parquet")
    for judged in (labels, tmp_path / "copy.parquet"):
        with pytest.raises(InputError, match="has the same 2 labels as the labels by people"):
            read_witnesses(judged, labels=labels)
    # One that differs, further ones and a file that names its model are what a model may say.
    assert read_witnesses(labels.with_columns(label=pl.lit(True)), labels=labels)
    assert read_witnesses(pl.concat([labels, pl.DataFrame({"item_id": ["d"], "label": [True]})]), labels=labels)
    assert read_witnesses(labels.with_columns(judge=pl.lit("x")), labels=labels)
