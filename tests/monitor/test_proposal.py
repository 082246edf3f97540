"""What the page proposes to label next."""

from typing import Any

import polars as pl

from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.labelling.label_proposal import propose_slices
from entropy_sentinel.monitor.monitor_result import Monitored
from entropy_sentinel.monitor.reading.problem_collection import Problems


def result(*rows: dict[str, Any]) -> Monitored:
    filled = [{"n_estimated": 100, "estimated_accuracy": 0.5, "flag_codes": [], **row} for row in rows]
    frame = pl.DataFrame(filled, schema_overrides={"flag_codes": pl.List(pl.String)})
    return Monitored(("route",), frame, None, [], {"window": None}, Problems())


def proposed(*rows: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(one.slice, one.n, one.why) for one in propose_slices(result(*rows))]


def test_slices_whose_estimate_does_not_count_come_first() -> None:
    rows = zip("abc", ([], [Flag.UNFAMILIAR.number], [Flag.CONTRADICTED.number]), strict=True)
    found = proposed(*({"route": route, "flag_codes": codes} for route, codes in rows))
    assert found == [("b", 10, "unfamiliar"), ("c", 10, "contradicted"), ("a", 10, "")]


def test_labels_that_are_there_count() -> None:
    found = proposed(
        {"route": "a", "n_labelled": 0}, {"route": "b", "flag_codes": [Flag.UNFAMILIAR.number], "n_labelled": 8}
    )
    assert found == [("b", 2, "unfamiliar"), ("a", 28, "")]


def test_large_and_uncertain_slices_get_more() -> None:
    """sqrt(400 / 4) = 10 and sqrt(100 / 4) = 5, in proportion; an accuracy of .95 has .22 in place of .5."""
    found = proposed({"route": "a", "n_estimated": 400}, {"route": "b"})
    assert found == [("a", 20, ""), ("b", 10, "")]
    found = proposed({"route": "a"}, {"route": "b", "estimated_accuracy": 0.99})
    assert found == [("a", 21, ""), ("b", 9, "")]


def test_no_slice_gets_more_than_it_has_and_none_fewer_than_five() -> None:
    found = proposed(*({"route": f"r{number}", "n_estimated": 100 - number} for number in range(9)))
    assert [n for _, n, _ in found] == [5] * 6
    assert proposed({"route": "a", "n_estimated": 3}) == [("a", 3, "")]
    assert proposed({"route": "a", "n_estimated": 0}) == []
