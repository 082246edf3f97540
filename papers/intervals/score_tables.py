"""The tables of the scores of each method, from frames SCORES and DIFFERENCES."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from entropy_sentinel.rendering.table_exhibit import Table, missing_notes, number_frame, select_headings
from papers.intervals.interval_exhibits import (
    CALIBRATION,
    COMMON_NOTE,
    PUBLISHED_FOLDER,
    READ_NOTE,
    SCORE_NOTE,
    TEST,
    VALUE_FORMATS,
    WILSON_NOTE,
    end_note,
    level_title,
    method_note,
    method_title,
)
from papers.intervals.interval_report import choose_method
from papers.intervals.interval_tables import IntervalsTableInputs

_KEY_HEADINGS = {"model": "Model", "level": "Level", "method": "Method"}
# The paper's text about its Table 2: by level, the drop of the mean score in points and in per cent.
_TEXT_DROPS: Mapping[float, tuple[float, float]] = {90.0: (7.38, 25.2), 95.0: (16.56, 27.8), 99.0: (173.84, 59.4)}
# The decrease that its abstract states.
_ABSTRACT_DROP_PERCENT = 54.0
_NO_DROP = (None, None)


def table_2_winkler(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the mean Winkler score on the test half, by model, level and method, with coverage and width.

    Methods with an infinite interval have no row: a note names them.
    """
    rows = inputs.scores.filter(half=TEST)
    infinite = []
    for row in rows.filter(pl.col("n_infinite") > 0).iter_rows(named=True):
        infinite.append(("row", "intervals without ends: the calibration half has too few questions", _join_keys(row)))
    headings = {
        **_KEY_HEADINGS,
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
        select_headings(rows.filter(n_infinite=0), headings, VALUE_FORMATS),
        (
            f"{COMMON_NOTE} Score, median score and width are over these, Compared is their number.",
            SCORE_NOTE,
            "A few intervals that state a number instead of its power of ten can dominate the mean; the median does "
            "not reflect them.",
            READ_NOTE,
            WILSON_NOTE,
            *missing_notes(infinite),
            *_note_temperatures(rows),
            method_note(inputs.scores["method"].unique(maintain_order=True)),
        ),
        published=_compare_published_scores(rows),
    )


def _note_temperatures(rows: pl.DataFrame) -> list[str]:
    """A line for each temperature that a method chose, with its levels, from rows of SCORES."""
    keys = ("model", "method", "temperature", "temperature_end")
    chosen = rows.drop_nulls("temperature").group_by(keys, maintain_order=True).agg("level")
    notes = []
    for model, method, temperature, end, levels in chosen.iter_rows():
        subject = f"{model}, {method_title(method)}, {', '.join(map(level_title, levels))}"
        notes.append(end_note(subject, temperature, end) if end else f"{subject}: T* {temperature:g}.")
    return notes


def _join_keys(row: dict[str, Any]) -> str:
    """Model, level and method of a row as text: `mine, 90 %, Split conformal`."""
    return ", ".join(_format_keys(row).values())


def _compare_published_scores(scores: pl.DataFrame) -> Table:
    """The paper's Table 2 with ours, for models that the study has under the paper's names."""
    paper_scores = _read_paper_scores()
    joined = paper_scores.join(scores, on=["model", "level", "method"], how="inner", maintain_order="left")
    differences = joined.with_columns(difference=pl.col("score") - pl.col("published"))
    headings = {**_KEY_HEADINGS, "score": "Score", "published": "Score: paper", "difference": "Score: difference"}
    note = "The paper's 500 + 500 questions are not published; this study uses others."
    return Table(
        "Mean Winkler score here and in the paper.", select_headings(differences, headings, VALUE_FORMATS), (note,)
    )


def _read_paper_scores() -> pl.DataFrame:
    """The paper's Table 2 as a row for each score: level, alpha, method, model, and the score as `published`."""
    printed = pl.read_csv(PUBLISHED_FOLDER / "table_2_winkler.csv", schema_overrides={"level": pl.Float64})
    return printed.unpivot(
        index=["level", "alpha", "method"], variable_name="model", value_name="published"
    ).drop_nulls("published")


def table_differences(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the difference of each method's score from that of the stated intervals, and the calibrated choice."""
    keys = [*_KEY_HEADINGS.values(), "Chosen"]
    numbers = ["Calibration coverage", "Calibration score", "Score", "Difference", "from", "to", "Questions"]
    rows = list(_compare_methods(inputs.scores.filter(half=CALIBRATION), inputs.differences))
    missing = []
    for row in inputs.differences.filter(half=TEST).drop_nulls("reason").iter_rows(named=True):
        missing.append(("difference", row["reason"], _join_keys(row)))
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


def _compare_methods(calibration: pl.DataFrame, differences: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield a row of the table for each method: its scores on both halves, and whether the calibration half chooses it.

    `calibration` are the rows of SCORES for that half; `differences` is a frame DIFFERENCES.
    """
    for (model, level), level_rows in differences.group_by("model", "level", maintain_order=True):
        scores = calibration.filter(model=model, level=level)
        folds = level_rows.filter(half=CALIBRATION)
        chosen, _ = choose_method(scores, folds)
        coverage_by_method = dict(scores.select("method", "coverage").iter_rows())
        score_by_method = dict(folds.select("method", "score").iter_rows())
        for row in level_rows.filter(half=TEST).iter_rows(named=True):
            yield _format_keys(row) | {
                "Chosen": "chosen" if row["method"] == chosen else "",
                "Calibration coverage": coverage_by_method.get(row["method"]),
                "Calibration score": score_by_method.get(row["method"]),
                "Score": row["score"],
                "Difference": row["difference"],
                "from": row["lower"],
                "to": row["upper"],
                "Questions": row["n"],
            }


def table_reductions(inputs: IntervalsTableInputs) -> Table:
    """Tabulate by how much conformal adjustment reduces the mean score over models, here and in the paper."""
    study_scores = inputs.differences.filter(half=TEST)
    paper_scores = _read_paper_scores().rename({"published": "score"})
    rows = [
        *_compute_reductions(study_scores, source="here", text_drops={}, abstract_percent=None),
        *_compute_reductions(paper_scores, "the paper's Table 2", _TEXT_DROPS, _ABSTRACT_DROP_PERCENT),
    ]
    numbers = ["Models", "Base", "Conformal", "Drop", "Drop, %", "Drop: text", "Drop, %: text"]
    return Table(
        "The mean Winkler score over models before and after conformal adjustment.",
        number_frame(rows, ["Whose", "Level"], numbers),
        (
            "Drop, %: of the mean over models. Text: the values in the paper's text about its Table 2.",
            "all: the sum over the paper's levels. Its abstract states a decrease by 54 %, but not of which score.",
        ),
    )


def _compute_reductions(
    scores: pl.DataFrame, source: str, text_drops: Mapping[float, tuple[float, float]], abstract_percent: float | None
) -> Iterator[dict[str, Any]]:
    """Yield rows of the table: by how much `conformal` lowers the mean score of `base`, per level and over all levels.

    `scores` has model, level, method and score; the row over all levels needs all of the paper's. `text_drops`, by
    level in points and per cent, and `abstract_percent` are the drops that the paper's text and abstract state.
    """
    method_scores = scores.filter(pl.col("method").is_in(["base", "conformal"])).pivot(
        on="method", index=["model", "level"], values="score", maintain_order=True
    )
    if not {"base", "conformal"} <= set(method_scores.columns):
        return
    finite = method_scores.filter(pl.col("base").is_finite(), pl.col("conformal").is_finite())
    means = finite.group_by("level").agg(pl.len(), pl.col("base").mean(), pl.col("conformal").mean()).sort("level")
    for level, n, base, conformal in means.iter_rows():
        yield _make_reduction_row(source, level_title(level), n, base, conformal, text_drops.get(level, _NO_DROP))
    paper_levels = means.filter(pl.col("level").is_in(list(_TEXT_DROPS)))
    if len(paper_levels) == len(_TEXT_DROPS):
        base, conformal = float(paper_levels["base"].sum()), float(paper_levels["conformal"].sum())
        yield _make_reduction_row(source, "all", paper_levels["len"].min(), base, conformal, (None, abstract_percent))


def _make_reduction_row(
    source: str, level: str, n: Any, base: float, conformal: float, paper_drop: tuple[float | None, float | None]
) -> dict[str, Any]:
    """A row of the table; `n` is the number of models, `paper_drop` what the paper states, in points and per cent."""
    return {
        "Whose": source,
        "Level": level,
        "Models": n,
        "Base": base,
        "Conformal": conformal,
        "Drop": base - conformal,
        "Drop, %": 100 * (1 - conformal / base) if base else None,
        "Drop: text": paper_drop[0],
        "Drop, %: text": paper_drop[1],
    }


def _format_keys(row: dict[str, Any]) -> dict[str, Any]:
    """Model, level and method of a row, as they are shown, by the table's headings."""
    cells = {}
    for name, heading in _KEY_HEADINGS.items():
        cells[heading] = VALUE_FORMATS[name](row[name]) if name in VALUE_FORMATS else row[name]
    return cells
