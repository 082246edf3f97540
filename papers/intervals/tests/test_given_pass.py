"""Stage `engine_pass` with what passes said elsewhere: taken over, or refused with file, row and column."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from papers.intervals.signal_families.integers.integers_frames import INTEGERS

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.schemas.contract import Contract, read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.signal_schema import EnginePass
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.items.trace_import import complete_generations
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS
from entropy_sentinel.study.stages.engine_pass import write_engine_pass
from entropy_sentinel.study.stages.signal_stage import write_signals

IDS = ["a-00000", "a-00003", "a-00007"]
OWN = {"answers": ["own", "none"], "positions": "all", "samples": None, "options": False}


def responses(folder: Path, **about: str) -> str:
    """The file of a study's traces of the model `mine`, a response to each item."""
    n = len(IDS)
    given = {
        "item_id": IDS,
        "sample": pl.Series([0] * n, dtype=pl.UInt16),
        "text": ["1"] * n,
        "finish_reason": ["stop"] * n,
        "token_logprobs": pl.Series([[-0.5]] * n, dtype=GENERATIONS.schema["token_logprobs"]),
        "top_logprobs": pl.Series([[[-0.5] * 20]] * n, dtype=GENERATIONS.schema["top_logprobs"]),
    }
    frame = complete_generations(pl.DataFrame(given)).select(GENERATIONS.schema.names())
    GENERATIONS.write(frame, folder / "traces.parquet", {"model": "mine", "benchmark": "a", "identity": "x"} | about)
    return str(folder / "traces.parquet")


def rows(contract: Contract, *given: dict[str, Any], of: str = "theirs") -> pl.DataFrame:
    """Rows of a pass, of another model unless `of` says so; what is not given is null."""
    known = {"model": of, "benchmark": "a", "sample": 0}
    return contract.frame([tuple((known | row).get(name) for name in contract.schema) for row in given])


def said(item: str, *probabilities: float, **more: Any) -> dict[str, Any]:
    """A row of INTEGERS: the integers from 1 on, with these probabilities."""
    values = list(range(1, 1 + len(probabilities)))
    result = {"values": values, "logprobs": [math.log(p) for p in probabilities], "missing": 1 - sum(probabilities)}
    return {"item_id": item, **result, "first_values": [], "first_logprobs": [], **more}


def take(folder: Path, frame: pl.DataFrame, family: str = "integers", section: Any = None) -> str:
    """The file that the stage writes of a given one."""
    frame.write_parquet(folder / "given.parquet")
    return take_file(folder / "given.parquet", family, section)


def take_file(path: Path, family: str = "integers", section: Any = None, **about: str) -> str:
    settings: Any = {"family": family, "version": 1, "source": str(path), "settings": section or {}}
    output = str(path.parent / f"{family}.parquet")
    write_engine_pass("no items are read", responses(path.parent, **about), settings, 1, output)
    return output


def test_rows_come_in_the_order_of_the_traces_and_as_the_studys_own(tmp_path: Path) -> None:
    given = [said(IDS[2], 0.5, 0.25), said("a-00009", 1.0), said(IDS[0], 0.2), said(IDS[1], 0.1, 0.4)]
    output = take(tmp_path, rows(INTEGERS, *given).drop("benchmark"))
    frame = INTEGERS.read(output)
    assert frame.select("model", "benchmark", "item_id").rows() == [("mine", "a", item) for item in IDS]
    assert frame["values"].to_list() == [[1], [1, 2], [1, 2]]
    about = read_provenance(output)
    assert (about["missing_responses"], about["unused_rows"], about["model"]) == (0, 1, "mine")
    assert about["pass"]["source"].endswith("given.parquet")
    assert "identity" not in about
    write_signals("integers", str(tmp_path / "traces.parquet"), str(tmp_path / "signals.parquet"), asked=output)
    likeliest = pl.read_parquet(tmp_path / "signals.parquet")["integer_max"]
    assert likeliest.to_list() == pytest.approx([1.0, 0.4 / 0.5, 0.5 / 0.75])


def test_a_response_without_a_row_is_null_and_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = INTEGERS.read(output := take(tmp_path, rows(INTEGERS, said(IDS[1], 0.5))))
    assert frame["values"].to_list() == [None, [1], None]
    assert frame["reason"].to_list() == ["no row in the file of the pass", None, "no row in the file of the pass"]
    assert read_provenance(output)["missing_responses"] == 2
    assert "given.parquet: has no row for 2 of 3 responses" in caplog.text


def test_a_response_has_a_row_for_each_kind_of_answer(tmp_path: Path) -> None:
    given = [{"item_id": IDS[0], "answer": kind, "eas": eas} for kind, eas in (("none", 2.0), ("own", 1.0))]
    frame = FORCED_ANSWERS.read(take(tmp_path, rows(FORCED_ANSWERS, *given), "forced_answer", OWN))
    lacking = [(item, kind, None) for item in IDS[1:] for kind in ("own", "none")]
    assert frame.select("item_id", "answer", "eas").rows() == [(IDS[0], "none", 2.0), (IDS[0], "own", 1.0), *lacking]
    with pytest.raises(InputError, match="row 2: 'item_id' must occur once per sample and answer; got a-00000"):
        take(tmp_path, rows(FORCED_ANSWERS, *given, given[0]), "forced_answer", OWN)


def test_other_settings_than_those_of_the_file_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "made.parquet"
    INTEGERS.write(rows(INTEGERS, said(IDS[0], 0.5)), path, {"pass": {"settings": {"prune_below": 0.02}}})
    output = take_file(path, section={"prune_below": 0.01})
    assert "signals.integers.prune_below is 0.01, but the file was made with 0.02" in caplog.text
    assert read_provenance(output)["source_pass"]["stage"] == "integers"


UNUSABLE: dict[str, tuple[pl.DataFrame, str]] = {
    "a sample twice": (
        rows(INTEGERS, said(IDS[0], 0.5), said(IDS[0], 0.4)),
        "row 1: 'item_id' must occur once per sample; got a-00000",
    ),
    "a response that the model did not give": (
        rows(INTEGERS, said(IDS[0], 0.5), said(IDS[0], 0.5, sample=1)),
        "row 1: 'sample' must belong to a response of the model; got 1",
    ),
    "no item of the study": (
        rows(INTEGERS, said("a-00001", 0.5)),
        "none of its 1 rows belongs to an item of the study, such as a-00000",
    ),
    "a missing column": (rows(INTEGERS, said(IDS[0], 0.5)).drop("missing"), "column 'missing' is missing; columns: "),
    "another type": (
        rows(INTEGERS, said(IDS[0], 0.5)).with_columns(values=pl.lit("one")),
        "row 0: 'values' must be List(Int32); got one",
    ),
    "no row": (rows(INTEGERS), "has no row"),
}


def trajectory(**changes: Any) -> pl.DataFrame:
    """Three rows of FORCED_ANSWERS, the second with other values than a model can have."""
    good = {
        **{"answer": "own", "positions": [1, 2], "entropies": [0.5, 1.0], "missing_masses": [0.0, 0.1]},
        **{"bounds": [0.0, 0.2], "eas": 1.5, "mean_eas": 0.75, "eas_bound": 0.2},
    }
    items = [{"item_id": item} for item in IDS]
    return rows(FORCED_ANSWERS, items[0] | good, items[1] | good | changes, items[2] | good)


IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "an area of NaN": ({"eas": math.nan}, "'eas' must be finite and from 0 to inf (bits); got nan"),
    "a probability above 1": ({"missing_masses": [0.0, 1.5]}, "'missing_masses' must be finite and from 0 to 1 (1); "),
    "one in a list of lists": (
        {"options": ["A", "B"], "option_probabilities": [[0.5, 0.5], [None, -0.5]]},
        "'option_probabilities' must be finite and from 0 to 1 (1); got ",
    ),
    "positions without entropies": ({"entropies": None}, "'entropies' must have an entry for each of positions; got N"),
    "an entropy too few": ({"entropies": [0.5]}, "'entropies' must have an entry for each of positions; got "),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_numbers_that_no_model_can_give_are_refused_with_file_row_and_column(tmp_path: Path, case: str) -> None:
    changes, said = IMPOSSIBLE[case]
    assert len(FORCED_ANSWERS.read(take(tmp_path, trajectory(), "forced_answer", OWN))) == 3
    with pytest.raises(InputError) as error:
        take(tmp_path, trajectory(**changes), "forced_answer", OWN)
    assert f"given.parquet: row 1: {said}" in str(error.value)


@pytest.mark.parametrize(("family", "contract"), [(name, of.requery) for name, of in FAMILIES.items() if of.requery])
def test_lists_that_go_together_are_of_the_contract(family: str, contract: EnginePass) -> None:
    for names in contract.alike:
        assert all(isinstance(contract.contract.schema[name], pl.List) for name in names)


@pytest.mark.parametrize(("model", "n_lines"), [("mine", 0), ("first-made-as", 0), ("theirs", 1)])
def test_a_pass_of_another_model_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, model: str, n_lines: int
) -> None:
    path = tmp_path / "made.parquet"
    INTEGERS.write(rows(INTEGERS, *(said(item, 0.5) for item in IDS), of=model), path, {"model": model})
    take_file(path, source_model="first-made-as")
    line = "made.parquet: is of the model 'theirs', and the traces are of mine or first-made-as"
    assert [line in message for message in caplog.messages] == [True] * n_lines


@pytest.mark.parametrize("case", UNUSABLE)
def test_what_cannot_be_used_is_named(tmp_path: Path, case: str) -> None:
    frame, said = UNUSABLE[case]
    with pytest.raises(InputError) as error:
        take(tmp_path, frame)
    assert f"given.parquet: {said}" in str(error.value)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "given.parquet"
    rows(INTEGERS, said(IDS[0], 0.5)).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match=r"given\.parquet: must be a Parquet file: "):
        take_file(path)
