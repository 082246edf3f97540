"""The summary for programs: the numbers of the others, under the keys that are documented."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from frames import GROUPS, LABEL, SyntheticStudy, validation

from entropy_sentinel.study.analyses.accuracy.accuracy_report import Study

DOCUMENT = Path(__file__).parents[4] / "docs" / "summary.md"


def machine_summary(**changes: Any) -> dict[str, Any]:
    synthetic = SyntheticStudy()
    frames = {name: getattr(synthetic, name) for name in ("estimates", "sweep", "domains", "validations")}
    study = Study(**(frames | {"groups": GROUPS, "headline_group": "extremes"} | changes))
    # What is not JSON is an error here.
    return json.loads(json.dumps(study.machine_summary(LABEL, "forest-10d-balanced-isotonic"), allow_nan=False))


def keys(value: Any) -> Iterator[str]:
    """Every key in it, however deep."""
    if isinstance(value, dict):
        yield from value
        for part in value.values():
            yield from keys(part)
    elif isinstance(value, list):
        for part in value:
            yield from keys(part)


def test_every_key_is_documented_and_every_documented_key_is_there() -> None:
    words = {word for text in re.findall(r"`([^`]*)`", DOCUMENT.read_text()) for word in re.findall(r"\w+", text)}
    result = set(keys(machine_summary()))
    assert result <= words
    rows = re.findall(r"^\| (`.*?) \|", DOCUMENT.read_text(), re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"\w+", row)}
    assert named <= result


def test_a_model_has_its_verdict_errors_and_domains() -> None:
    result = machine_summary(validations=[validation("tiny-a", unlabelled=[("puzzles", 0.25)])])
    (model,) = result["models"]
    assert (model["model"], model["verdict"], model["reasons"]) == ("tiny-a", "usable", ["off by 0.125 in the mean"])
    assert (model["confidence"], model["error_at_least"], model["error_at_most"]) == (0.9, 0.06, 0.09)
    assert (model["recommended"]["aee"], model["recommended"]["method"]) == (0.125, "consensus")
    assert (model["default"]["aee"], model["best"]["estimator"]) == (0.2, "atc-max")
    assert (model["worst"]["domain"], round(model["worst"]["error"], 9)) == ("logic", -0.15)
    assert [(one["domain"], one["estimated"], one["true"]) for one in model["left_out"]] == [
        ("logic", 0.3, 0.45),
        ("words", 0.8, 0.9),
    ]
    (puzzles,) = model["unlabelled"]
    assert (puzzles["estimated"], puzzles["lower"], puzzles["upper"], puzzles["true"]) == (0.25, 0.15, 0.35, None)
    assert result["level"] == 0.9


def test_the_training_group_is_that_of_the_text() -> None:
    result = machine_summary()
    assert result["training_group"]["benchmarks"] == ["arithmetic", "words"]
    synthetic = SyntheticStudy()
    for model in result["models"]:
        (row,) = synthetic.sweep.filter(
            model=model["model"],
            group="arithmetic+words",
            estimator=result["training_group"]["estimator"],
            scope="held_out",
        ).to_dicts()
        assert model["training_group"]["scores"]["held_out"]["aee"] == row["aee"]
        assert len(model["training_group"]["domains"]) == 7


def test_a_model_without_results_for_the_group_and_a_study_without_labels() -> None:
    (model,) = machine_summary(validations=[validation("other", [], method=None)])["models"]
    assert model["training_group"] is None
    assert (model["worst"], model["best"], model["recommended"]["aee"]) == (None, None, None)
