"""Files of estimators that earlier code wrote: they are read, give the numbers of that code, and are written unchanged.

`data/earlier_files` has two files and what the code that wrote them (commit 3d181e62) printed and estimated for
`data/tiny`. One is of version 5, with groups and a limit of its own; one of version 6, with a judge. The others are
made from these, as the versions differ.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from forged import parts, signed
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
