"""An alert about a drop says whether a second opinion confirms it."""

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from entropy_sentinel.api.witness_reading import Witness
from entropy_sentinel.monitor.alert_codes import AlertKind
from entropy_sentinel.monitor.alerting.drop_opinions import add_opinions
from entropy_sentinel.monitor.episodes import DropLevels, Episode
from entropy_sentinel.monitor.labelling.witness_support import AskedWitness
from entropy_sentinel.schemas.witness_schema import WitnessKind

SINCE = datetime(2026, 11, 20, tzinfo=UTC)


def told(after: tuple[int, int], before: tuple[int, int], until: datetime | None = None, **columns: object) -> Episode:
    """Return the episode of a drop by .3 if so many answers agreed, of so many, since then and before."""
    frames = []
    for (agrees, n), day in ((after, SINCE), (before, SINCE - timedelta(days=3))):
        frames.append(pl.DataFrame({"value": [1.0] * agrees + [0.0] * (n - agrees), "grain": [day] * n}))
    rows = pl.concat(frames).with_columns(slice=pl.lit(4), weight=pl.lit(2.0), cluster=pl.lit(None, pl.UInt64))
    rows = rows.with_columns(**{"comparable": pl.lit(True), **columns})
    opinion = AskedWitness(Witness(WitnessKind.SECOND_OPINION, "big", pl.DataFrame(), ()), rows, at_random=False)
    levels = DropLevels(before=0.8, after=0.5)
    drop = Episode(AlertKind.DROP, {"route": "e"}, {}, "fell", SINCE, SINCE, until=until, levels=levels)
    [found] = add_opinions([drop], [opinion], pl.DataFrame({"route": [*"abcdef"]}), None, 0.9)
    return found


@pytest.mark.parametrize(
    ("after", "before", "verdict"),
    [
        # .4 against .783: the standard error is near sqrt(.24 / 30 + .17 / 60) = .10, so the interval ends at -.21.
        ((12, 30), (47, 60), "confirms the drop"),
        # .8 against .783: the interval ends at +.02 - .15, less than half of the drop.
        ((24, 30), (47, 60), "does not confirm the drop"),
        # .7 against .783: neither no change nor one of .15 is excluded.
        ((21, 30), (47, 60), "cannot tell"),
        # Four answers say nothing, whatever they say.
        ((0, 4), (47, 60), "cannot tell"),
    ],
)
def test_agreement_since_the_drop_and_before(after: tuple[int, int], before: tuple[int, int], verdict: str) -> None:
    drop = told(after, before)
    shares = after[0] / after[1], before[0] / before[1]
    assert drop.message.startswith(
        f"fell; second opinion of big: agrees with {shares[0]:.2f} of {after[1]} answers since 2026-11-20, "
        f"{shares[1]:.2f} of 60 before (change "
    )
    assert drop.message.endswith(f": {verdict}")
    assert (drop.details["n_opinion_after"], drop.details["opinion_before"]) == (after[1], pytest.approx(shares[1]))


def test_without_answers_on_both_sides_it_cannot_tell_and_elsewhere_it_is_silent() -> None:
    assert told((20, 30), (0, 0)).message == (
        "fell; second opinion of big: asked about 30 answers since 2026-11-20 and 0 before: cannot tell"
    )
    assert told((12, 30), (47, 60), until=SINCE + timedelta(days=1)).message == "fell"
    assert told((12, 30), (47, 60), slice=pl.lit(3)).message == "fell"
    assert told((12, 30), (47, 60), comparable=pl.lit(False)).message == "fell"
