"""Three weeks of two models' logs, a file a day, with everything that goes wrong in operation.

24 responses a route, model and day from 5 to 25 October 2026; the first week is the reference. The estimated accuracy
of `homework` falls from .55 to .26 on the 20th. By day:

    13      ten responses arrive only with the file of the 15th
    14      the file also has twenty responses of the 13th
    17      from noon on, no log-probabilities
    19      the provider renames gpt-x-2026-01 to gpt-x-2026-03
    23      no file: it comes with that of the 24th
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
from production import change_metadata, fitted, traffic, written

import entropy_sentinel as es
from entropy_sentinel.features.feature_registry import FEATURES

FIRST, DAY = datetime(2026, 10, 5, tzinfo=UTC), timedelta(days=1)
REFERENCE = "2026-10-05..2026-10-11"
OLD, NEW, OTHER = "gpt-x-2026-01", "gpt-x-2026-03", "mini-2026"
ROUTES = {"homework": 0.55, "exam": 0.7, "science": 0.4}
N, ATC = 24, "atc-se_sum"
NO_LOGPROBS = "no log-probabilities in the log"


def october(day: int) -> datetime:
    return FIRST + (day - 5) * DAY


def write_estimators(folder: Path) -> list[Path]:
    """Write an estimator for each model."""
    paths = []
    for model in (OLD, OTHER):
        estimator = change_metadata(fitted(ATC), model=model)
        paths.append(folder / f"{model}.estimator")
        es.save(estimator, paths[-1])
    return paths


class Log:
    """The days of the log."""

    def __init__(self) -> None:
        pool = traffic(3000, seed=3).with_columns(cut_off=pl.lit(False))
        above = pl.Series(fitted(ATC).estimator.values(pool.select(FEATURES))[:, 0] == 1)
        self._sides, self._taken = (pool.filter(above), pool.filter(~above)), [0, 0]
        self._days = {number: self._day(number) for number in range(5, 26)}

    def _day(self, number: int) -> pl.DataFrame:
        parts = []
        for model in (OLD, OTHER):
            for route, share in ROUTES.items():
                if (route, model) == ("homework", OLD) and number >= 20:
                    share = 0.26
                name = NEW if model == OLD and number >= 19 else model
                parts.append(self._responses(number, name, route, round(N * share)))
        return pl.concat(parts).sort("time", maintain_order=True)

    def _responses(self, number: int, model: str, route: str, n_right: int) -> pl.DataFrame:
        rows = []
        for side, n in enumerate((n_right, N - n_right)):
            places = [(self._taken[side] + place) % len(self._sides[side]) for place in range(n)]
            self._taken[side] += n
            rows.append(self._sides[side][places])
        hours = [timedelta(hours=24 * (place * 7 % N) / N) for place in range(N)]
        return pl.concat(rows).with_columns(
            model=pl.lit(model),
            route=pl.lit(route),
            item_id=pl.Series([f"{number}-{model}-{route}-{place}" for place in range(N)]),
            time=pl.Series([october(number) + hour for hour in hours], dtype=pl.Datetime("us", "UTC")),
        )

    def file(self, number: int) -> pl.DataFrame | None:
        """Return the responses that arrive in the night after a day; null on the 23rd."""
        day = self._days[number]
        if number == 13:
            return day.head(-10)
        if number == 14:
            return pl.concat([self._days[13].head(20), day])
        if number == 15:
            return pl.concat([self._days[13].tail(10), day])
        if number == 17:
            is_late = pl.col("time") >= october(17) + DAY / 2
            return day.with_columns(reason=pl.when(is_late).then(pl.lit(NO_LOGPROBS)).otherwise("reason"))
        return None if number == 23 else day

    def write(self, number: int, folder: Path) -> None:
        """Write what arrives in the night after a day."""
        folder.mkdir(exist_ok=True)
        features = self.file(number)
        if number == 24:
            written(self._days[23], folder / "23.parquet")
        if features is not None:
            written(features, folder / f"{number}.parquet")
