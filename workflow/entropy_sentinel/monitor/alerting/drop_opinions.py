"""Say whether a second opinion confirms a drop: whether it agrees more seldom since the drop than before."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.monitor.episodes import DropLevels, Episode
from entropy_sentinel.monitor.labelling.monitor_witnesses import number_clusters
from entropy_sentinel.monitor.labelling.witness_estimates import FEWEST_ASKED
from entropy_sentinel.monitor.labelling.witness_support import AskedWitness
from entropy_sentinel.monitor.reading.window_times import convert_from_clock
from entropy_sentinel.schemas.witness_schema import VALUE
from entropy_sentinel.statistics.monitoring.requested_slices import WitnessedSlice, compare_shares

# A change is as large as the drop if it is at least this part of it.
_PART = 0.5


class DropOpinion(StrEnum):
    """What a second opinion says of a drop, as a part of a sentence."""

    CONFIRMS = "confirms the drop"
    DENIES = "does not confirm the drop"
    UNKNOWN = "cannot tell"


def add_opinions(
    drops: Sequence[Episode],
    opinions: Sequence[AskedWitness],
    slices: pl.DataFrame,
    zone: str | None,
    level: float,
) -> Iterator[Episode]:
    """Yield all drops; the message of one that lasts also says what a second opinion on its slice shows.

    A second opinion is whether another model's answers agree. `opinions` are those of the models that count, the
    strongest first; `slices` has the values of each slice, in the order of its number.
    """
    numbers = {values: number for number, values in enumerate(slices.iter_rows())} if opinions else {}
    for drop in drops:
        if drop.until is not None or drop.levels is None:
            yield drop
            continue
        for opinion in opinions:
            number = numbers[tuple(drop.slice.values())]
            part = opinion.slices.get(number)
            if part is not None and number in opinion.estimable:
                yield _add_opinion(drop, drop.levels, opinion, part, zone, level)
                break
        else:
            yield drop


def _add_opinion(
    drop: Episode, levels: DropLevels, opinion: AskedWitness, part: pl.DataFrame, zone: str | None, level: float
) -> Episode:
    """The drop with what a second model says: whether the share with which it agrees has fallen as well.

    `part` are the responses of the slice about which it was asked.
    """
    timed = part.drop_nulls("grain")
    is_later = convert_from_clock(timed["grain"], zone) >= drop.since
    after, before = (_make_asked_slice(timed.filter(side), opinion.at_random) for side in (is_later, ~is_later))
    name = opinion.witness.name
    n_after, n_before = len(after.values), len(before.values)
    details: dict[str, float | str] = {"n_opinion_after": n_after, "n_opinion_before": n_before}
    verdict = DropOpinion.UNKNOWN
    day = f"{drop.since:%Y-%m-%d}"
    statement = f"asked about {n_after} answers since {day} and {n_before} before"
    if n_after and n_before:
        change = compare_shares(after, before, level)
        statement = (
            f"agrees with {change.after:.2f} of {n_after} answers since {day}, {change.before:.2f} of {n_before}"
        )
        statement += f" before (change {change.lower:+.2f} to {change.upper:+.2f})"
        details |= {"opinion_after": change.after, "opinion_before": change.before}
        if min(n_after, n_before) >= FEWEST_ASKED:
            if change.upper < 0:
                verdict = DropOpinion.CONFIRMS
            elif change.lower > -_PART * (levels.before - levels.after):
                verdict = DropOpinion.DENIES
    details["opinion"] = verdict.name.lower()
    return replace(drop, message=f"{drop.message}; {name}: {statement}: {verdict}", details=details)


def _make_asked_slice(part: pl.DataFrame, at_random: bool) -> WitnessedSlice:
    """The values of a second opinion on responses that are part of its sample; on all if none has a weight."""
    weights = None
    if not at_random and part[WEIGHT].count():
        part = part.drop_nulls(WEIGHT)
        weights = part[WEIGHT].to_numpy()
    clusters = number_clusters(part) if len(part) else None
    return WitnessedSlice(
        part[VALUE].to_numpy(),
        labels=np.full(len(part), np.nan),
        n_effective=len(part),
        weights=weights,
        clusters=clusters,
    )
