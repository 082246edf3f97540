"""Find the responses behind alerts: the least certain responses of each alert's slice, with their texts.

States contain no texts, only ids and predictions of single responses. A few responses are therefore chosen by their
predictions, and their logs are read again.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.features.feature_files import holds_features
from entropy_sentinel.hub.token_texts import TokenTexts
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.logs.response_selection import PLACE
from entropy_sentinel.monitor.alert import Alert
from entropy_sentinel.monitor.monitor_options import Reading
from entropy_sentinel.monitor.monitor_result import AlertResponses, LoggedResponse
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX, open_log
from entropy_sentinel.monitor.reading.window_times import find_clock_windows, find_window_starts
from entropy_sentinel.monitor.summing.monitor_state import State
from entropy_sentinel.rendering.token_colours import read_tokens
from entropy_sentinel.schemas.contract import PROVENANCE_KEY, read_provenance

# Limits of the page: slices with responses, tokens of a response, and alternatives per token.
MOST_SLICES, MOST_TOKENS, ALTERNATIVES = 10, 200, 3
_KEY = ("benchmark", "item_id", "sample")


def find_least_certain(
    alerts: Sequence[Alert], window: str | None, state: State, reading: Reading, most: int
) -> list[AlertResponses]:
    """At most `most` responses for each slice and window with an alert, the least likely correct ones first.

    At most MOST_SLICES slices and windows are covered. `note` names logs that were moved or contain only features.
    """
    by_slice: dict[str, Alert] = {}
    for alert in alerts:
        if alert.has_responses:
            by_slice[repr((alert.slice, _find_window(alert)))] = alert
    shown_alerts = list(by_slice.values())[:MOST_SLICES]
    chosen = [_choose_responses(alert, window, state, reading, most) for alert in shown_alerts]
    responses, missing = _read_all(chosen, state, reading)
    behind_alerts = []
    for alert, rows in zip(shown_alerts, chosen, strict=True):
        ids = rows.select("key", *_KEY).iter_rows()
        alert_responses = tuple(responses[who] for who in ids if who in responses)
        note = _describe_missing(rows, len(alert_responses), missing)
        behind_alerts.append(AlertResponses(alert.slice, _find_window(alert), alert_responses, note))
    return behind_alerts


def _find_window(alert: Alert) -> datetime | None:
    """The window of an alert; null without windows."""
    return None if alert.window is None else alert.window.window


def _choose_responses(alert: Alert, window: str | None, state: State, reading: Reading, most: int) -> pl.DataFrame:
    """The least certain responses of an alert's slice: the `key` of the file, their ids, and `p`."""
    same = [pl.col(f"{SLICE_PREFIX}{name}").eq_missing(pl.lit(alert.slice[name], pl.String)) for name in reading.by]
    if window is not None and alert.window is not None:
        # A window with too few responses is pooled with earlier windows. The state has what the clock of the windows'
        # zone shows.
        ends = pl.Series([end.astimezone(UTC) for end in (alert.window.window_from, alert.window.window)])
        first, last = find_clock_windows(ends, window, reading.zone)
        same.append(find_window_starts(pl.col("grain"), window).is_between(first, last))
    frames = []
    for key in state.files:
        for frame in state.responses(key):
            of_slice = frame.filter(pl.lit(True), *same).select(pl.lit(key).alias("key"), *_KEY, "p")
            frames.append(of_slice.sort("p", *_KEY).head(most))
    if not frames:
        return pl.DataFrame(schema={"key": pl.String, **dict.fromkeys(_KEY, pl.String), "p": pl.Float64})
    return pl.concat(frames).sort("p", "key", *_KEY).head(most)


def _read_all(
    chosen: Sequence[pl.DataFrame], state: State, reading: Reading
) -> tuple[dict[tuple[Any, ...], LoggedResponse], dict[str, str]]:
    """The responses by the key of their file and the values of _KEY; and by file why it could not be read.

    `chosen` are the rows of `_choose_responses` for each alert.
    """
    responses: dict[tuple[Any, ...], LoggedResponse] = {}
    missing: dict[str, str] = {}
    if not chosen:
        return responses, missing
    rows = pl.concat(chosen).unique(["key", *_KEY], maintain_order=True)
    for (key,), part in rows.group_by("key", maintain_order=True):
        path = state.files[key].path
        predictions = {tuple(who): p for *who, p in part.select(*_KEY, "p").iter_rows()}
        try:
            if not Path(path).is_file():
                missing[key] = f"'{path}' cannot be read a second time"
            elif holds_features(path):
                missing[key] = f"'{path}' contains features, which have no texts"
            else:
                for who, response in _read_log(path, reading, predictions):
                    responses[(key, *who)] = response
        except EntropySentinelError as error:
            missing[key] = str(error)
    return responses, missing


def _read_log(
    path: str, reading: Reading, predictions: Mapping[tuple[Any, ...], float]
) -> Iterator[tuple[tuple[Any, ...], LoggedResponse]]:
    """Yield the ids and responses of a log that have one of the `predictions`; stop when all are found.

    An id is the values of _KEY, and `predictions` are P(correct) by id.
    """
    has_provenance = Path(path).suffix == ".parquet" and PROVENANCE_KEY in pl.read_parquet_metadata(path)
    texts, wanted = TokenTexts(read_provenance(path) if has_provenance else {}), dict(predictions)
    for frame in open_log(path, reading, strict=False, extra_columns=(QUESTION,)):
        candidates = frame.filter(pl.col("item_id").is_in([item_id for _, item_id, _ in wanted]))
        for row in candidates.iter_rows(named=True):
            who = tuple(row[name] for name in _KEY)
            if who in wanted:
                yield who, _make_response(row, wanted.pop(who), texts)
        if not wanted:
            return


def _make_response(row: Mapping[str, Any], p: float, texts: TokenTexts) -> LoggedResponse:
    """The response in a row of a log, with its prediction `p` and the tokens that the page shows."""
    question = row.get(QUESTION)
    return LoggedResponse(
        item_id=row["item_id"],
        sample=row["sample"],
        p=p,
        place=row[PLACE],
        question=None if question is None else str(question),
        text=row["text"],
        n_tokens=row["n_tokens"],
        finish_reason=row["finish_reason"],
        tokens=tuple(read_tokens(row, *texts.read_row(row), MOST_TOKENS, ALTERNATIVES)),
    )


def _describe_missing(rows: pl.DataFrame, n_shown: int, missing: Mapping[str, str]) -> str:
    """How many of the chosen responses, `rows`, cannot be shown, and why; empty if all are shown.

    `missing` are the reasons by the key of the file.
    """
    if rows.is_empty():
        return "This slice pools several slices, so its responses cannot be shown."
    if n_shown == len(rows):
        return ""
    reasons = dict.fromkeys(missing.get(key) or "they are no longer in the log" for key in rows["key"].unique())
    return f"{len(rows) - n_shown} of the slice's least certain responses cannot be shown: {'; '.join(reasons)}."
