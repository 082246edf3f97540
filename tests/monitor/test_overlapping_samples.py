"""Several samples of one witness, of overlapping logs, count each response of a slice once."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from production import traffic

import entropy_sentinel as es
from entropy_sentinel.api.overlapping_samples import combine_weights

DAYS, A_DAY = 14, 60
FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def combine(files: list[dict[int, float]], times: list[int | None], n_untimed: int = 0) -> list[float | None]:
    """The combined weights of responses with a day each, from the weights by response of each file."""
    samples = [
        [{"(sample)": number, "weight": file[row]} for number, file in enumerate(files) if row in file] or None
        for row in range(len(times))
    ]
    grains = [None if day is None else FIRST + timedelta(days=day) for day in times]
    schema = pl.List(pl.Struct({"(sample)": pl.Int64, "weight": pl.Float64}))
    rows = pl.DataFrame({"slice": 0, "w": None}).select(pl.all().repeat_by(len(times)).explode())
    rows = rows.with_columns(
        pl.Series("grain", grains, pl.Datetime("us", "UTC")), pl.Series("s", samples, schema), w=pl.lit(1.0)
    )
    untimed = pl.DataFrame({"slice": [0], "n": [n_untimed]})
    return combine_weights(rows, "s", "w", untimed)["w"].to_list()


def test_shares_by_hand() -> None:
    """One of each 6 responses of days 0 to 3 (24 responses), and one of each 3 of days 2 and 3 (12 responses).

    On days 2 and 3 the first counts with (1/6) / (1/6 + 1/3) = 1/3, the second with 2/3: each of their six samples
    weighs 2, together 12 again. The response in both has both weights.
    """
    long, short = dict.fromkeys(range(4), 6.0), {3: 3.0} | dict.fromkeys((4, 5, 6), 3.0)
    assert combine([long, short], [0, 1, 2, 3, 2, 2, 3]) == pytest.approx([6, 6, 2, 4, 2, 2, 2])
    # Two weeks whose logs were divided within a day share only this day.
    assert combine([{0: 5.0, 1: 5.0}, {2: 7.0, 3: 7.0}], [0, 6, 6, 12]) == [5, 5, 7, 7]
    # A response without any sample keeps what it had.
    assert combine([long, short], [0, 1, 2, 3, 2, 2, 3, 3])[-1] == 1.0


def test_without_times_only_the_sample_that_covers_the_most_counts() -> None:
    long, short = dict.fromkeys(range(4), 6.0), dict.fromkeys(range(4, 8), 3.0)
    assert combine([long, short], [None] * 8, n_untimed=24) == [6] * 4 + [None] * 4
    # Apart: the weights add up to all responses.
    assert combine([long, short], [None] * 8, n_untimed=36) == [6] * 4 + [3] * 4
    # The same logs twice, at the same rate.
    assert combine([long, dict.fromkeys(range(4, 8), 6.0)], [None] * 8, n_untimed=24) == [3] * 8
    # A response in both says that they overlap, also where missing verdicts make the sum small.
    assert combine([long, {3: 3.0}], [None] * 4, n_untimed=100) == [6] * 4


@pytest.mark.parametrize("window", ["day", None])
def test_the_last_days_of_two_samples_count_once(window: str | None) -> None:
    """60 responses a day, wrong on the last two of 14 days: 12 of 14 are right, .857; counted twice it would be .75."""
    features = traffic(DAYS * A_DAY, days=DAYS).sort("time")
    day = np.arange(len(features)) // A_DAY
    rng = np.random.default_rng(3)
    rows = features.select("item_id", label=pl.Series(day < 12), judge=pl.lit("big"), witness=pl.lit("second-opinion"))
    rows = rows.with_columns(comparable=pl.lit(True))

    def draw(first: int, every: int) -> pl.DataFrame:
        places = np.arange(first * A_DAY + rng.integers(every), len(features), every)
        return rows[places].with_columns(weight=pl.lit(float(every)))

    options: dict[str, Any] = {"window": window} if window else {}
    labels = features[::40].select("item_id", label=pl.Series(day[::40] < 12), weight=pl.lit(40.0))
    files = [draw(0, 14), draw(12, 2)]
    found = es.monitor(None, features, labels=labels, judged=files, **options)
    assert found.slices["improved_accuracy"].item() == pytest.approx(12 / 14, abs=0.02)
    few = labels.head(1)
    found = es.monitor(None, features, labels=few, judged=files, **options)
    [row] = found.slices.select("use_accuracy", "rests_on").rows()
    assert row == (pytest.approx(12 / 14, abs=0.02), "opinion")
