"""Decide which verdict covers single responses: that of the validation only if their slice is like a labelled domain.

Whether responses are like a labelled domain is a question about several of them, so it is asked for each slice. One
response does not answer it, and neither does a file with several kinds of questions.
"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import polars as pl

from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.estimators.familiarity import FEWEST
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.estimators.verdict import USABLE
from entropy_sentinel.features.hashed_tokens import COLUMN, KIND, count_buckets
from entropy_sentinel.formatting.text_format import format_list
from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.monitor_options import NOT_VALIDATED
from entropy_sentinel.monitor.reading.feature_stream import SLICE_PREFIX

# The largest number of slices that a line names.
_MOST_NAMES = 5
# In place of the verdict `usable`, for responses whose familiarity was not judged.
NOT_JUDGED = "not judged"


class Unjudged(StrEnum):
    """Why the familiarity of a response was not judged."""

    NO_SLICES = "no-slices"
    FEW_RESPONSES = "few-responses"
    NO_WORDS = "no-words"
    OTHER_WORDS = "other-words"
    ESTIMATOR_WITHOUT_WORDS = "estimator-without-words"


# What users read, and what to do.
SENTENCES = {
    Unjudged.NO_SLICES: "it is judged for slices; name their column, such as {by}",
    Unjudged.FEW_RESPONSES: f"the slice has fewer than {FEWEST} responses with words",
    Unjudged.NO_WORDS: "the log has neither tokens nor texts",
    Unjudged.OTHER_WORDS: "the estimator was fitted on tokens and the log has only texts, or the reverse",
    Unjudged.ESTIMATOR_WITHOUT_WORDS: "the estimator was fitted without the words of the responses; fit it again",
}


def _explain_reason(reason: str) -> str:
    """What users read of a reason."""
    return SENTENCES[Unjudged(reason)].format(by=format_option("by", "metadata.route"))


def judge_familiarity(estimator: FittedEstimator, rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """`unfamiliar` (bool) and `familiarity_reason` (why it was not judged) of each row, (n_rows,): one of them is null.

    They are the same for all rows of a slice, by the columns `by`. `rows` are those of `read_all_responses`; only
    responses with an estimate count.
    """
    keys = [f"{SLICE_PREFIX}{name}" for name in by]
    if not keys:
        return _make_familiarity([None] * len(rows), [Unjudged.NO_SLICES] * len(rows))
    if rows.select(pl.all_horizontal(pl.col(keys).is_null()).all()).item():
        return _make_familiarity([None] * len(rows), [Unjudged.NO_SLICES] * len(rows))
    slices = rows.select(pl.struct(keys).rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    n_slices = int(slices.max(initial=-1)) + 1
    familiarity = estimator.metadata.familiarity
    if familiarity is None or not {COLUMN, KIND} <= set(rows.columns):
        why = Unjudged.ESTIMATOR_WITHOUT_WORDS if familiarity is None else Unjudged.NO_WORDS
        return _make_familiarity([None] * len(rows), [why] * len(rows))
    alike = (pl.col(KIND) == familiarity.kind) & pl.col("excluded").is_null()
    states = count_buckets(rows.select(pl.when(alike).then(COLUMN)).to_series(), slices, n_slices)
    other_words = rows.select(pl.col(KIND).is_not_null() & (pl.col(KIND) != familiarity.kind)).to_series().to_numpy()
    n_other = np.bincount(slices[other_words], minlength=n_slices)
    has_words = np.bincount(slices[rows[KIND].is_not_null().to_numpy()], minlength=n_slices) > 0
    flagged: list[bool | None] = []
    reasons: list[Unjudged | None] = []
    for place, flag in enumerate(familiarity.flags(states)):
        judged = states[place, 0] >= FEWEST
        flagged.append((flag is not None) if judged else None)
        few = Unjudged.FEW_RESPONSES if has_words[place] else Unjudged.NO_WORDS
        why_unjudged = Unjudged.OTHER_WORDS if n_other[place] else few
        reasons.append(None if judged else why_unjudged)
    return _make_familiarity(flagged, reasons)[slices]


def _make_familiarity(unfamiliar: Sequence[bool | None], reasons: Sequence[Unjudged | None]) -> pl.DataFrame:
    """The columns `unfamiliar` and `familiarity_reason`."""
    return pl.DataFrame(
        {
            "unfamiliar": pl.Series(unfamiliar, dtype=pl.Boolean),
            "familiarity_reason": pl.Series([reason and str(reason) for reason in reasons], dtype=pl.String),
        }
    )


def select_verdicts(estimator: FittedEstimator, overridden: bool, unfamiliar: pl.Series) -> pl.Series:
    """The verdict that covers each response, (n_rows,), by whether its slice is `unfamiliar`; null if not judged.

    `usable` needs a slice that is like a labelled domain; the other verdicts warn of every response.
    """
    validation = estimator.validation
    verdict = NOT_VALIDATED if validation is None or overridden else validation.verdict
    not_judged = NOT_JUDGED if verdict == USABLE else verdict
    covering = {None: not_judged, True: Flag.UNFAMILIAR.words, False: verdict}
    return pl.Series([covering[flag] for flag in unfamiliar.to_list()], dtype=pl.String)


def explain_verdict(verdict: str | None, reason: str | None) -> str:
    """What a system that shows one response says about its P(correct)."""
    if verdict == NOT_JUDGED and reason is not None:
        return f"{verdict}: whether it is like a labelled domain is unknown ({_explain_reason(reason)})"
    if verdict == Flag.UNFAMILIAR.words:
        return f"{verdict}: unlike every labelled domain, so P(correct) may be far off"
    return verdict or ""


def describe_familiarity(scores: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Lines with the slices that are unfamiliar, and with the number that could not be judged, and why."""
    names = [name if name in scores.columns else f"{SLICE_PREFIX}{name}" for name in by]
    slices = scores.select(*names, "unfamiliar", "familiarity_reason").unique(maintain_order=True)
    lines = []
    if unlike := _format_slices(slices.filter("unfamiliar"), names):
        why = "unlike every labelled domain, so P(correct) may be far off; label some"
        lines.append(f"{Flag.UNFAMILIAR.words}: {format_list(unlike, _MOST_NAMES)}: {why}")
    for (reason,), part in slices.drop_nulls("familiarity_reason").group_by("familiarity_reason", maintain_order=True):
        where = (
            f" of {format_list(_format_slices(part, names), _MOST_NAMES)}" if reason == Unjudged.FEW_RESPONSES else ""
        )
        lines.append(f"{NOT_JUDGED}: familiarity{where}: {_explain_reason(str(reason))}")
    return lines


def _format_slices(slices: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """The name of each slice: its values, joined."""
    return [", ".join("-" if value is None else str(value) for value in row) for row in slices.select(columns).rows()]
