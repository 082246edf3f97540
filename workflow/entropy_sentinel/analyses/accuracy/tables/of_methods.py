"""The recommended estimator beside the default, and beside what turned out best: the paper has no table of it."""

from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.measuring.aggregation import MEASURES, names_in, null_notes, without_small_rho
from entropy_sentinel.analyses.headings import SCOPE_NOTE, Groups, training_group
from entropy_sentinel.estimators.catalogue import CANDIDATES, FEWEST_TO_CHOOSE, RECOMMENDED, title
from entropy_sentinel.report.tables import Table, number_frame
from entropy_sentinel.statistics.errors import median

_NUMBERS = ["Recommended", "Default", "Best"]


def table_recommended(sweep: pl.DataFrame, groups: Groups, default: str) -> Table:
    """Median AEE on unseen domains, by model, for each named group and for all groups of each size."""
    unseen = sweep.filter(pl.col("scope") == "held_out", pl.col("aee").is_not_null())
    named = [training_group(groups, name) for name in groups]
    sizes = {k: names_in(unseen.filter(pl.col("k") == k), "group") for k in sorted(set(unseen["k"]))}
    sets = {one.title: [one.group] for one in named} | {f"all of size {k}": members for k, members in sizes.items()}
    rows = []
    for model in names_in(unseen, "model"):
        for heading, members in sets.items():
            part = unseen.filter(pl.col("model") == model, pl.col("group").is_in(members))
            n_groups = part["group"].n_unique()
            if n_groups:
                rows.append({"Model": model, "Training group": heading, "Groups": n_groups} | _row(part, default))
    return Table(
        "AEE on unseen domains of the recommended estimator, the default, and the best one after the fact: medians "
        "over training groups.",
        number_frame(rows, ["Model", "Training group", "Groups"], [*_NUMBERS, "Best is", "Recommended took"]),
        (
            SCOPE_NOTE,
            f"Recommended: {title(CANDIDATES[0])}, or what {FEWEST_TO_CHOOSE} training benchmarks or more say is "
            "better, leaving out one at a time.",
            f"Default: {default}; - where it has no result for one of the groups. Best: the least median of all "
            "estimators that were run on all these groups; nobody knows it beforehand.",
        ),
    )


def table_repeats(repeats: pl.DataFrame, groups: Groups) -> Table:
    """Median and range over seeds of AEE and rho on unseen domains, by model, named group and estimator."""
    titles = {one.group: one.title for one in (training_group(groups, name) for name in groups)}
    unseen = without_small_rho(repeats.filter(pl.col("scope") == "held_out"))
    rows = []
    for (model, group, estimator), part in unseen.group_by("model", "group", "estimator", maintain_order=True):
        row = {
            "Model": model,
            "Training group": titles[group],
            "Estimator": estimator,
            "Seeds": part["seed"].n_unique(),
        }
        for measure, heading in MEASURES.items():
            values = part[measure].drop_nulls()
            row |= {f"Median {heading}": values.median(), f"Least {heading}": values.min()}
            row[f"Largest {heading}"] = values.max()
        rows.append(row)
    numbers = [f"{what} {heading}" for heading in MEASURES.values() for what in ("Median", "Least", "Largest")]
    return Table(
        "AEE and rho on unseen domains under several seeds of folds, forests and networks, on the same rows.",
        number_frame(rows, ["Model", "Training group", "Estimator", "Seeds"], numbers),
        (
            "The difference of two estimators that is smaller than this range may be the seed's.",
            *(
                []
                if rows
                else ["Every estimator was fitted once: analyses.accuracy.repeats says under how many seeds."]
            ),
            *null_notes(unseen),
        ),
    )


def _row(part: pl.DataFrame, default: str) -> dict[str, Any]:
    """The results of one model on some groups, summed up."""
    n_groups = part["group"].n_unique()
    errors = {name: rows["aee"] for (name,), rows in part.group_by("estimator", maintain_order=True)}
    medians = {name: median(found.to_numpy()) for name, found in errors.items() if len(found) == n_groups}
    others = {name: found for name, found in medians.items() if name != RECOMMENDED}
    best = min(others, key=lambda name: others[name], default=None)
    taken = part.filter(pl.col("estimator") == RECOMMENDED)["method"].drop_nulls().value_counts(sort=True)
    counts = [title(name) + (f" ({count})" if n_groups > 1 else "") for name, count in taken.iter_rows()]
    return {
        "Recommended": medians.get(RECOMMENDED),
        "Default": medians.get(default),
        "Best": others.get(best),
        "Best is": best and title(best),
        "Recommended took": ", ".join(counts) or None,
    }
