"""The curve of a forced answer on the page of responses."""

from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.study.analyses.responses.response_page import render_page
from entropy_sentinel.study.analyses.responses.response_traces import AnnotatedResponse, EntropyCurve, read_trajectories
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS


def curve(entropies: list[float], **changes: Any) -> EntropyCurve:
    values = {"answer": "own", "text": "42", "eas": sum(entropies), "tokens_to_answer": len(entropies) + 1}
    values |= {"positions": tuple(range(1, len(entropies) + 1)), "entropies": tuple(entropies)}
    return EntropyCurve(**values | changes)


def points(outline: str) -> list[tuple[float, float]]:
    return [tuple(map(float, point.split(","))) for point in outline.split()]


def test_the_area_begins_and_ends_on_the_baseline_and_touches_the_top() -> None:
    result = points(curve([0.5, 2.0, 1.0]).outline)
    # 60 units high for 2 bits: 0.5 bits are 15 units above the baseline, which is at 60.
    assert result == [(1, 60), (1, 45), (2, 0), (3, 30), (3, 60)]


def test_small_entropies_look_small() -> None:
    assert points(curve([0.1, 0.2]).outline)[1:3] == [(1, 54), (2, 48)]


def test_a_long_curve_has_few_points_and_keeps_its_peak() -> None:
    result = points(curve([0.1] * 5000 + [9.0] + [0.1] * 5000).outline)
    assert len(result) <= 802
    assert (5001, 0) in result


def test_curves_of_the_items_that_are_requested(tmp_path: Path) -> None:
    about = {"model": "m", "benchmark": "b", "sample": 0, "answer_text": "4", "answer_tokens": 1, "tokens_to_answer": 3}
    about |= {"positions": [1, 2], "entropies": [0.5, 1.0], "missing_masses": [0.0] * 2, "bounds": [0.0] * 2}
    rows = [
        dict.fromkeys(FORCED_ANSWERS.schema) | about | {"item_id": item, "answer": kind, "eas": area, "reason": reason}
        for item, kind, area, reason in [("x", "own", 1.5, None), ("x", "none", None, "why"), ("y", "own", 1.5, None)]
    ]
    FORCED_ANSWERS.write(FORCED_ANSWERS.frame(rows), tmp_path / "asked.parquet", {})
    result = read_trajectories(tmp_path / "asked.parquet", ["x"])
    assert result == {("x", 0): [EntropyCurve("own", "4", 1.5, 3, (1, 2), (0.5, 1.0))]}
    assert read_trajectories(None, ["x"]) == {}


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "x" * 10_000])
def test_the_page_shows_it_with_its_area(text: str) -> None:
    response = AnnotatedResponse(
        "b-0", 0, "?", "4", "so 4", 2, "stop", True, None, "4", 0.5, (), (curve([0.5, 1.0], text=text),)
    )
    page = render_page("l", "m", None, [("b", [(response, ["most certain"])])], "no texts", 0)
    assert page.count("<polygon") == 1
    assert "area 1.5 bits, at most 1.00 bits at a token" in " ".join(page.split())
    assert page.count("<script") == 1  # the page's own
    assert "x" * 100 not in page
