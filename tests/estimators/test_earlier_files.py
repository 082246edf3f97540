"""Files that earlier code wrote: they are read, give the numbers of that code, and are written unchanged.

`data/earlier_files` has two files and what the code that wrote them (commit 3d181e62) printed and estimated for
`data/tiny`. One is of version 5, with groups and a limit of its own; one of version 6, with a judge. The others are
made from these, as the versions differ. The state is of a monitor with the first, as commit 4a631ce1 wrote it.
"""

import gzip
import io
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from forged import parts, signed
from polars.testing import assert_frame_equal
from tiny import TINY

import entropy_sentinel as es

FOLDER = Path(__file__).parent / "data" / "earlier_files"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())
GROUPED, JUDGED = "log-3d.5.estimator", "doc-mtp.6.estimator"


@cache
def features() -> pl.DataFrame:
    return es.read_features(TINY.traces)


def estimates(path: Path) -> list[dict[str, Any]]:
    slices = es.estimate(path, features(), by=["benchmark"]).sort("benchmark")
    return slices.select("benchmark", "estimated_accuracy", "lower", "upper", "flags").to_dicts()


def without_reasons(header: bytes) -> str:
    """A header in its own order, without the sentences of its validations."""
    content = json.loads(header)
    for validation in (content["validation"], content["validation"]["new_groups"] or {}):
        validation.pop("reasons", None)
    return json.dumps(content)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_gives_the_same_numbers_and_the_same_bytes(name: str, tmp_path: Path) -> None:
    fitted = es.load(FOLDER / name)
    assert repr(fitted).splitlines() == EXPECTED[name]["repr"]
    assert estimates(FOLDER / name) == EXPECTED[name]["slices"]
    es.save(fitted, tmp_path / "again.estimator")
    (header, arrays), (again, same) = (
        parts(path.read_bytes()) for path in (FOLDER / name, tmp_path / "again.estimator")
    )
    # The file has what follows from its domains, so that people can read it; the code computes and words it anew.
    assert (without_reasons(again), same) == (without_reasons(header), arrays)


def without_words(header: dict[str, Any]) -> dict[str, Any]:
    """As version 3."""
    return {key: value for key, value in header.items() if key != "familiarity"}


def without_distances(header: dict[str, Any]) -> dict[str, Any]:
    """As version 4."""
    del header["familiarity"]["left_out"]
    return header


def with_unnamed_judge(header: dict[str, Any]) -> dict[str, Any]:
    """As the first files of version 6."""
    [witness] = header["validation"].pop("witnesses")
    named = ("name", "kind", "model", "auroc", "calibration_error")
    header["validation"]["judge"] = {key: value for key, value in witness.items() if key not in named}
    return header


VERSIONS: list[tuple[str, bytes, Callable[[dict[str, Any]], dict[str, Any]]]] = [
    (GROUPED, b"3", without_words),
    (GROUPED, b"4", without_distances),
    (JUDGED, b"6", with_unnamed_judge),
]


@pytest.mark.parametrize(("name", "version", "change"), VERSIONS)
def test_a_file_of_an_earlier_version_gives_the_same_numbers(
    name: str, version: bytes, change: Callable[[dict[str, Any]], dict[str, Any]], tmp_path: Path
) -> None:
    header, arrays = parts((FOLDER / name).read_bytes())
    path = tmp_path / "old.estimator"
    content = signed(json.dumps(change(json.loads(header))).encode(), arrays)
    path.write_bytes(content.replace(b"entropy-sentinel estimator 5", b"entropy-sentinel estimator " + version, 1))
    fitted, now = es.load(path), es.load(FOLDER / name)
    assert repr(fitted).splitlines() == EXPECTED[name]["repr"]
    assert estimates(path) == EXPECTED[name]["slices"]
    assert (fitted.metadata.familiarity is None) == (version == b"3")
    if version == b"4":
        assert fitted.metadata.familiarity.stored is None
        assert fitted.metadata.familiarity.limit == now.metadata.familiarity.limit
    if name == JUDGED:
        [judge] = fitted.validation.witnesses
        assert (judge.name, judge.sensitivity) == ("judge", now.validation.witnesses[0].sensitivity)


def test_a_file_of_a_later_version_keeps_its_further_fields(tmp_path: Path) -> None:
    header, arrays = parts((FOLDER / GROUPED).read_bytes())
    path = tmp_path / "later.estimator"
    path.write_bytes(signed(json.dumps(json.loads(header) | {"later": {"a": 1}}).encode(), arrays))
    es.save(es.load(path), tmp_path / "again.estimator")
    assert json.loads(parts((tmp_path / "again.estimator").read_bytes())[0])["later"] == {"a": 1}


def read_sums(state: Path) -> pl.DataFrame:
    with closing(sqlite3.connect(state)) as file:
        [(content,)] = file.execute("SELECT content FROM frames WHERE part = 'sums'").fetchall()
    return pl.read_parquet(io.BytesIO(content))


def test_a_state_gives_the_same_numbers_and_its_sums_are_written_alike(tmp_path: Path) -> None:
    """An estimator of one value has sums of one column, (n_rows, 1)."""
    earlier, new = tmp_path / "earlier", tmp_path / "new"
    earlier.write_bytes(gzip.decompress((FOLDER / "log-3d.5.state.gz").read_bytes()))
    for state, n_read in ((earlier, 0), (new, 12)):
        found = es.monitor(FOLDER / GROUPED, TINY.log, state=state, any_model=True, any_logprobs=True)
        assert found.provenance["responses"] == {"read_now": n_read, "in_all": 12}
        assert found.slices["estimated_accuracy"].to_list() == [0.5802094585371634]
    sums = read_sums(earlier)
    assert (sums["values"].dtype, sums["products"].dtype) == (pl.Array(pl.Float64, 1),) * 2
    assert_frame_equal(read_sums(new), sums)
