"""The tables of the scores of each method, from frames SCORES and DIFFERENCES."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from entropy_sentinel.rendering.table_exhibit import Table, missing_notes, number_frame, select_headings
from papers.intervals.interval_exhibits import (
    CALIBRATION,
    COMMON_NOTE,
    PUBLISHED,
    READ_NOTE,
    SCORE_NOTE,
    TEST,
    WILSON_NOTE,
    WORDS,
    end_note,
    level_title,
    method_note,
    method_title,
)
from papers.intervals.interval_report import choice
from papers.intervals.interval_tables import IntervalsTableInputs

_KEYS = {"model": "Model", "level": "Level", "method": "Method"}
# The paper's text about its Table 2: by level, the drop of the mean score in points and in per cent.
_TEXT = {90.0: (7.38, 25.2), 95.0: (16.56, 27.8), 99.0: (173.84, 59.4)}


def table_2_winkler(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the mean Winkler score on the test half, by model, level and method, with coverage and width.

    Methods with an infinite interval have no row: a note names them.
    """
    rows = inputs.scores.filter(half=TEST)
    infinite = []
    for row in rows.filter(pl.col("n_infinite") > 0).iter_rows(named=True):
        infinite.append(("row", "intervals without ends: the calibration half has too few questions", _whose(row)))
    headings = {
        **_KEYS,
        "score": "Score",
        "median_score": "Median score",
        "width": "Width",
        "n_common": "Compared",
        "coverage": "Coverage",
        "coverage_lower": "from",
        "coverage_upper": "to",
        "n": "Questions",
    }
    return Table(
        "Mean Winkler score, coverage and mean width on the test half.",
        select_headings(rows.filter(n_infinite=0), headings, WORDS),
        (
            f"{COMMON_NOTE} Score, median score and width are over these, Compared is their number.",
            SCORE_NOTE,
            "A few intervals that state a number instead of its power of ten can dominate the mean; the median does "
            "not reflect them.",
            READ_NOTE,
            WILSON_NOTE,
            *missing_notes(infinite),
            *_temperatures(rows),
            method_note(inputs.scores["method"].unique(maintain_order=True)),
        ),
        published=_published_scores(rows),
    )


def _temperatures(rows: pl.DataFrame) -> list[str]:
    """A line for each chosen temperature, with its levels."""
    keys = ("model", "method", "temperature", "temperature_end")
    chosen = rows.drop_nulls("temperature").group_by(keys, maintain_order=True).agg("level")
    notes = []
    for model, method, temperature, end, levels in chosen.iter_rows():
        whose = f"{model}, {method_title(method)}, {', '.join(map(level_title, levels))}"
        notes.append(end_note(whose, temperature, end) if end else f"{whose}: T* {temperature:g}.")
    return notes


def _whose(row: dict[str, Any]) -> str:
    return ", ".join(_keys(row).values())


def _published_scores(scores: pl.DataFrame) -> Table:
    """The paper's Table 2 with ours, for models that the study has under the paper's names."""
    theirs = _paper()
    joined = theirs.join(scores, on=["model", "level", "method"], how="inner", maintain_order="left")
    compared = joined.with_columns(difference=pl.col("score") - pl.col("published"))
    headings = {**_KEYS, "score": "Score", "published": "Score: paper", "difference": "Score: difference"}
    note = "The paper's 500 + 500 questions are not published; this study uses others."
    return Table("Mean Winkler score here and in the paper.", select_headings(compared, headings, WORDS), (note,))


def _paper() -> pl.DataFrame:
    """The paper's Table 2: level, alpha, method, model, published."""
    printed = pl.read_csv(PUBLISHED / "table_2_winkler.csv", schema_overrides={"level": pl.Float64})
    return printed.unpivot(
        index=["level", "alpha", "method"], variable_name="model", value_name="published"
    ).drop_nulls("published")


def table_differences(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the difference of each method's score from that of the stated intervals, and the calibrated choice."""
    keys = [*_KEYS.values(), "Chosen"]
    numbers = ["Calibration coverage", "Calibration score", "Score", "Difference", "from", "to", "Questions"]
    rows = list(_compared(inputs.scores.filter(half=CALIBRATION), inputs.differences))
    missing = []
    for row in inputs.differences.filter(half=TEST).drop_nulls("reason").iter_rows(named=True):
        missing.append(("difference", row["reason"], _whose(row)))
    return Table(
        "Mean Winkler score of each method on the test half, and its difference from that of the stated intervals.",
        number_frame(rows, keys, numbers),
        (
            COMMON_NOTE,
            "Calibration coverage and score: on the calibration half, each fifth of which is adjusted by the four "
            "others. The chosen method has the lowest score among those that may hold (the level is in the Wilson "
            "interval of their coverage, or below it), or else the lowest of all. The test half is not used for this.",
            "from, to: 95 % interval by bootstrap over questions, each with its scores of both methods.",
            *missing_notes(missing),
        ),
        decimals=2,
    )


def _compared(calibration: pl.DataFrame, differences: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for (model, level), own in differences.group_by("model", "level", maintain_order=True):
        scores, folds = calibration.filter(model=model, level=level), own.filter(half=CALIBRATION)
        chosen, _ = choice(scores, folds)
        covered = dict(scores.select("method", "coverage").iter_rows())
        before = dict(folds.select("method", "score").iter_rows())
        for row in own.filter(half=TEST).iter_rows(named=True):
            yield _keys(row) | {
                "Chosen": "chosen" if row["method"] == chosen else "",
                "Calibration coverage": covered.get(row["method"]),
                "Calibration score": before.get(row["method"]),
                "Score": row["score"],
                "Difference": row["difference"],
                "from": row["lower"],
                "to": row["upper"],
                "Questions": row["n"],
            }


def table_reductions(inputs: IntervalsTableInputs) -> Table:
    """Tabulate by how much conformal adjustment reduces the mean score over models, here and in the paper."""
    here = inputs.differences.filter(half=TEST).select("model", "level", "method", pl.col("score").alias("published"))
    rows = [*_reductions(here, "here"), *_reductions(_paper(), "the paper's Table 2")]
    numbers = ["Models", "Base", "Conformal", "Drop", "Drop, %", "Drop: text", "Drop, %: text"]
    return Table(
        "The mean Winkler score over models before and after conformal adjustment.",
        number_frame(rows, ["Whose", "Level"], numbers),
        (
            "Drop, %: of the mean over models. Text: the values in the paper's text about its Table 2.",
            "all: the sum over the paper's levels. Its abstract states a decrease by 54 %, but not of which score.",
        ),
    )


def _reductions(scores: pl.DataFrame, whose: str) -> Iterator[dict[str, Any]]:
    """The reduction of these scores: rows of model, level, method and `published`."""
    both = scores.filter(pl.col("method").is_in(["base", "conformal"])).pivot(
        on="method", index=["model", "level"], values="published", maintain_order=True
    )
    if not {"base", "conformal"} <= set(both.columns):
        return
    finite = both.filter(pl.col("base").is_finite(), pl.col("conformal").is_finite())
    means = finite.group_by("level").agg(pl.len(), pl.col("base").mean(), pl.col("conformal").mean()).sort("level")
    no_text: tuple[float | None, float | None] = (None, None)
    for level, n, base, conformal in means.iter_rows():
        text = no_text if whose == "here" else _TEXT.get(level, no_text)
        yield _reduction(whose, level_title(level), n, base, conformal, text)
    of_paper = means.filter(pl.col("level").is_in(list(_TEXT)))
    if len(of_paper) == len(_TEXT):
        base, conformal = float(of_paper["base"].sum()), float(of_paper["conformal"].sum())
        abstract = None if whose == "here" else 54.0
        yield _reduction(whose, "all", of_paper["len"].min(), base, conformal, (None, abstract))


def _reduction(
    whose: str, level: str, n: Any, base: float, conformal: float, text: tuple[float | None, float | None]
) -> dict[str, Any]:
    return {
        "Whose": whose,
        "Level": level,
        "Models": n,
        "Base": base,
        "Conformal": conformal,
        "Drop": base - conformal,
        "Drop, %": 100 * (1 - conformal / base) if base else None,
        "Drop: text": text[0],
        "Drop, %: text": text[1],
    }


def _keys(row: dict[str, Any]) -> dict[str, Any]:
    return {heading: WORDS[name](row[name]) if name in WORDS else row[name] for name, heading in _KEYS.items()}
