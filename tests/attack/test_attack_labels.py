"""Labels made elsewhere that are not as they should be: `labels.yaml`."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from a_study import Study, item_ids, step
from attack_cases import Case, attack, cases, expand

from entropy_sentinel.schemas.label_schema import LABELS

pytestmark = pytest.mark.slow


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
