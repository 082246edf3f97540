"""Traces made elsewhere that are not as they should be: `traces.yaml`. From the file to the features."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from a_study import Study, item_ids, step
from attack_cases import Case, attack, cases, expand

from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.schemas.generation_schema import GENERATIONS

pytestmark = pytest.mark.slow


def spelled_out(steps: Any) -> Any:
    """A trace of steps: `plain`, {first: [...], rest: x} or the log-probabilities themselves."""
    if not isinstance(steps, list):
        return steps
    words = {"plain": step()}
    return [
        step(*one["first"], rest=one["rest"])
        if isinstance(one, dict)
        else words.get(one, one)
        if isinstance(one, str)
        else one
        for one in expand(steps)
    ]


PLAIN = {"token_logprobs": [-0.5, -0.5], "top_logprobs": ["plain", "plain"], "text": "2", "finish_reason": "stop"}


def columns(case: Case) -> dict[str, list[Any]]:
    """Three responses of two tokens; the first is the case's."""
    rows = [PLAIN | case.get("first", {}), PLAIN, PLAIN]
    made = {name: [row[name] for row in rows] for name in PLAIN}
    made["top_logprobs"] = [spelled_out(steps) for steps in made["top_logprobs"]]
    made = {"item_id": item_ids(), **made, **expand(case.get("columns", {}))}
    return {name: values for name, values in made.items() if name not in case.get("without", [])}


def write_given(case: Case, path: Path) -> None:
    if "hex" in case:
        path.write_bytes(bytes.fromhex(case["hex"]))
        return
    frame = pl.DataFrame(columns(case), strict=False)
    for name, kind in case.get("as", {}).items():
        frame = frame.with_columns(pl.col(name).cast(getattr(pl, kind)))
    frame.head(case.get("rows", 3)).write_parquet(path, metadata=case.get("metadata"))


@cases("traces.yaml")
def test_traces(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    study = Study(tmp_path, **case.get("study", {}))
    study.make_items()
    write_given(case, study.given_traces)

    def features() -> pl.DataFrame:
        study.make_generations()
        study.make_features()
        return FEATURE_FRAME.check(FEATURE_FRAME.read(study.features))

    frame = attack(case["expect"], features)
    if frame is None:
        assert not Path(study.generations).exists()
        return
    wanted, first = case["expect"], frame.row(0, named=True)
    assert len(frame) == wanted.get("n", 3)
    # Every number is one that all estimators can take, and no response spoils another.
    assert frame.select(pl.col(FEATURES).drop_nulls().is_finite().all()).row(0) == (True,) * len(FEATURES)
    assert frame.select(pl.col(FEATURES).abs().max().fill_null(0) < 1e30).row(0) == (True,) * len(FEATURES)
    assert frame["reason"][1:].is_null().all()
    if "null" in wanted:
        assert pl.Series([first["reason"]]).str.contains(wanted["null"]).item(), first["reason"]
        assert [first[name] for name in FEATURES] == [None] * len(FEATURES)
    for name, value in wanted.get("features", {}).items():
        assert first[name] == pytest.approx(value, rel=1e-6, abs=1e-9), name
    if "finish_reason" in wanted:
        assert GENERATIONS.read(study.generations, ["finish_reason"]).item(0, 0) == wanted["finish_reason"]
