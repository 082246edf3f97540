"""What training on each selection does: Table 3 of Zhu et al. (2025), from runs of a trainer, beside theirs.

A run is a strategy, a seed and the accuracy after training (average pass@1). Every selection is trained on with the
same seeds, so differences to `random` are of pairs: the interval is Student's over the seeds. It speaks of other seeds
with these very selections; not of another draw of `random`, and not of other problems to measure on.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from papers.selection.selection_exhibits import STRATEGIES
from scipy import stats

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.formatting.spreadsheet import write_csv
from entropy_sentinel.rendering.figure_style import (
    BLUE,
    ORANGE,
    Drawing,
    apply_style,
    new_figure,
    style_axes,
    write_figure,
)
from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.rendering.table_exhibit import Table, write_table

# The model before any training, as the "strategy" of a run; and what others are compared with.
BEFORE, BASELINE = "before", "random"
RUNS = {"strategy": pl.String, "seed": pl.Int64, "items": pl.Int64, "pass_at_1": pl.Float64}
TABLE = Exhibit("table", "3_selection", "Accuracy after training on each selection")
FIGURE = Exhibit("figure", "3_selection", "What training on each selection changes")
PUBLISHED = Path(__file__).parent / "published" / "table_3_selection.csv"
LEVEL = 0.95


class Difference(NamedTuple):
    """Mean of paired differences with its interval, null where one pair alone has none."""

    mean: float
    lower: float | None
    upper: float | None


def paired_difference(values: Mapping[int, float], baseline: Mapping[int, float]) -> Difference:
    """What `values` are above `baseline`, by seed, with Student's interval at 95 % over the seeds.

    Raises InputError where the seeds are not the same.
    """
    if values.keys() != baseline.keys():
        odd = sorted(values.keys() ^ baseline.keys())
        raise InputError(f"runs: every strategy must have the same seeds, seed {odd[0]} is not there for all")
    differences = [values[seed] - baseline[seed] for seed in values]
    if len(differences) < 2:
        return Difference(differences[0], None, None)
    interval = stats.ttest_1samp(differences, 0).confidence_interval(LEVEL)
    return Difference(float(np.mean(differences)), float(interval.low), float(interval.high))


def differences(runs: pl.DataFrame) -> pl.DataFrame:
    """A row for each strategy, in the catalogue's order: items, seeds, pass@1, and the difference to `random`.

    `runs` has the columns of RUNS. Columns strategy, items, seeds, pass_at_1, difference, lower, upper; all but counts
    are shares, and `random` has no difference. Raises InputError without runs of `random`.
    """
    by_strategy = {
        str(name): part for (name,), part in runs.group_by("strategy", maintain_order=True) if name != BEFORE
    }
    if BASELINE not in by_strategy:
        raise InputError(f"runs: must have the strategy '{BASELINE}', which the others are compared with")
    seeds = {name: dict(part.select("seed", "pass_at_1").iter_rows()) for name, part in by_strategy.items()}
    rows = []
    for name in sorted(by_strategy, key=[*STRATEGIES, *by_strategy].index):
        none = name == BASELINE
        result = Difference(0, None, None) if none else paired_difference(seeds[name], seeds[BASELINE])
        part = by_strategy[name]
        rows.append(
            {"strategy": name, "items": part["items"][0], "seeds": len(part), "pass_at_1": part["pass_at_1"].mean()}
            | {"difference": None if none else result.mean, "lower": result.lower, "upper": result.upper}
        )
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(("difference", "lower", "upper"), pl.Float64))


def table_3_selection(runs: pl.DataFrame, model: str, how: str) -> Table:
    """Accuracy after training on each selection, in per cent, and the differences to random."""
    rows, before = differences(runs), runs.filter(strategy=BEFORE)["pass_at_1"].mean()
    percent = [pl.col(name) * 100 for name in ("pass_at_1", "difference", "lower", "upper")]
    names = {
        "strategy": "Selection",
        "items": "Items",
        "seeds": "Seeds",
        "pass_at_1": "Pass@1",
        "difference": "Difference to random",
        "lower": "from",
        "upper": "to",
    }
    titles = {name: one.title for name, one in STRATEGIES.items()}
    shown = rows.with_columns(pl.col("strategy").replace(titles), *percent)
    told = [] if before is None else [f"Before training: {100 * float(str(before)):.2f}."]
    return Table(
        f"Average pass@1 of {model} on held-out problems after training on each selection, in per cent.",
        shown.select(pl.col(name).alias(heading) for name, heading in names.items()),
        (
            "Difference: mean over seeds of the difference to random with the same seed; from and to: Student's "
            "interval at 95 % over the seeds. It does not cover other draws of random or other problems.",
            *told,
            f"Training: {how}.",
        ),
        decimals=2,
        published=published(),
    )


def published() -> Table:
    """The paper's Table 3, as printed."""
    names = {
        "model": "Model",
        "checkpoint_rank": "Checkpoint",
        "random": "Random",
        "length_difference": "Longest",
        "pass_rate_difference": "Lowest pass rate",
        "eas_difference": "Highest EAS",
    }
    return Table(
        "Average pass@1 on AIME 2024 and 2025 over 32 rounds, in per cent; for selections, the difference from random.",
        pl.read_csv(PUBLISHED).rename(names),
        (
            "5,000 of the items that AM-DeepSeek-R1-0528-Distilled has for mathematics; the best three checkpoints. "
            "No seeds and no intervals are published: other models, problems and training than ours.",
        ),
        decimals=1,
    )


def figure_3_selection(runs: pl.DataFrame, label: str) -> Drawing:
    """The differences to random: every seed, their mean and its interval."""
    rows = differences(runs).filter(pl.col("strategy") != BASELINE)
    random = dict(runs.filter(strategy=BASELINE).select("seed", "pass_at_1").iter_rows())
    figure = new_figure(6.4, 0.7 + 0.55 * len(rows), label)
    axes: Any = figure.subplots()
    places = list(range(len(rows)))[::-1]
    for row, place in zip(rows.iter_rows(named=True), places, strict=True):
        own = runs.filter(strategy=row["strategy"])
        each = [100 * (value - random[seed]) for seed, value in own.select("seed", "pass_at_1").iter_rows()]
        axes.plot(each, [place - 0.18] * len(each), ".", color=ORANGE, alpha=0.8)
        if row["lower"] is not None:
            axes.plot([100 * row["lower"], 100 * row["upper"]], [place] * 2, color=BLUE, linewidth=2)
        axes.plot(100 * row["difference"], place, "o", color=BLUE)
    titles = [STRATEGIES[name].title if name in STRATEGIES else name for name in rows["strategy"]]
    axes.axvline(0, color="0.6", linewidth=0.8, linestyle="--")
    axes.set_yticks(places, titles)
    axes.set(ylim=(-0.6, len(rows) - 0.4), xlabel="pass@1 minus that of random, percentage points")
    style_axes(axes)
    return Drawing(
        figure,
        "Blue: mean difference to the random selection and its interval at 95 % over the seeds; orange: each seed.",
    )


def write_trained(runs: pl.DataFrame, model: str, folder: str | Path, how: str) -> str:
    """Write the runs, the table and the figure to `folder`; the table as text for a terminal."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_csv(runs, Path(folder) / "runs.csv")
    write_table(TABLE, table_3_selection(runs, model, how), folder)
    with apply_style():
        drawing = figure_3_selection(runs, model)
    write_figure(FIGURE, drawing, folder)
    return (Path(folder) / f"{TABLE.file}.md").read_text(encoding="utf-8")
