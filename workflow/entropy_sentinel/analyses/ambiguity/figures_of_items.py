"""Figures 3 and 4: the epistemic uncertainty of items beside their entropy and the estimators."""

import math

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from sklearn.metrics import roc_curve

from entropy_sentinel.analyses.ambiguity.catalogue import ANSWERS, ESTIMATORS
from entropy_sentinel.analyses.ambiguity.concordance import separation
from entropy_sentinel.analyses.ambiguity.entropy_bounds import least_uncertainty, most_uncertainty
from entropy_sentinel.analyses.ambiguity.measures import KINDS, common
from entropy_sentinel.report.figures import BLUE, GREEN, ORANGE, Drawing, legend_of, message, new_figure, plain

# The paper's threshold of its ROC curves.
_UNCERTAIN = math.log(2)
_COLOURS = dict(zip(ESTIMATORS, (BLUE, ORANGE, GREEN, "#CC79A7"), strict=True))
_STEPS = 200


def figure_3_relationship(items: pl.DataFrame, model: str, label: str) -> Drawing:
    """Epistemic uncertainty against the semantic entropy, and ROC curves, of items with one answer and with several."""
    own = items.filter(model=model)
    kinds = {kind: own.filter(which) for kind, which in KINDS.items()}
    kinds = {kind: rows for kind, rows in kinds.items() if len(rows.drop_nulls("se"))}
    if not kinds:
        return Drawing(message(f"{model}: no item has a semantic entropy", label), f"{model}: no semantic entropy.")
    figure = new_figure(11, 3.2 * len(kinds), label)
    panels = figure.subplots(len(kinds), 2, squeeze=False)
    for (scatter, curves), (kind, rows) in zip(panels, kinds.items(), strict=True):
        _scatter(scatter, rows.drop_nulls("se"), kind)
        _curves(curves, common(rows), kind)
    return Drawing(
        figure,
        f"{model}. Left: each point is an item. With one answer, lines are the least epistemic uncertainty of "
        "Theorem 1 for as many classes as any item has, and the most of Theorem 2 where the likeliest class is right. "
        "Right: how each estimator tells items with an epistemic uncertainty of log 2 or more from the others.",
    )


def _scatter(axes: Axes, rows: pl.DataFrame, kind: str) -> None:
    plain(axes)
    axes.scatter(rows["se"], rows["epistemic"], s=10, color=BLUE, alpha=0.4, linewidths=0)
    if kind == "one":
        # The right answer counts as a class where the model never gave it.
        n_classes = max(int((rows["n_classes"].cast(pl.Int64) + rows["n_imputed"]).max()), 2)  # type: ignore[arg-type]
        entropies = np.linspace(0, math.log(n_classes), _STEPS)
        least = [least_uncertainty(delta, n_classes) for delta in entropies]
        axes.plot(entropies, least, color=ORANGE, label=f"at least (K = {n_classes})")
        entropies = np.linspace(0, _UNCERTAIN, _STEPS)
        most = [most_uncertainty(delta) for delta in entropies]
        axes.plot(entropies, most, color=GREEN, linestyle="--", label="at most, if the likeliest is right")
        axes.legend(fontsize=7, frameon=False)
    axes.set_title(f"Right answers: {ANSWERS[kind]}, {len(rows)} items", fontsize=9)
    axes.set_xlabel("semantic entropy, nats", fontsize=9)
    axes.set_ylabel("epistemic uncertainty, nats", fontsize=9)


def _curves(axes: Axes, rows: pl.DataFrame, kind: str) -> None:
    plain(axes)
    axes.plot([0, 1], [0, 1], color="0.7", linewidth=1)
    axes.set_title(f"Right answers: {ANSWERS[kind]}; EU at least log 2", fontsize=9)
    axes.set_xlabel("share of the certain items", fontsize=9)
    axes.set_ylabel("share of the uncertain items", fontsize=9)
    for name, one in ESTIMATORS.items():
        if rows[name].null_count():
            continue
        found = separation(rows[name], rows["epistemic"], _UNCERTAIN)
        if found.auroc is None:
            axes.text(0.5, 0.5, f"no ROC curve: {found.reason}", ha="center", fontsize=8)
            return
        certain, uncertain, _ = roc_curve((rows["epistemic"] >= _UNCERTAIN).to_numpy(), rows[name].to_numpy())
        axes.plot(certain, uncertain, color=_COLOURS[name], label=f"{one.title} {found.auroc:.2f}")
    axes.legend(fontsize=7, frameon=False, title="AUROC", title_fontsize=7)


def figure_4_collapse(items: pl.DataFrame, label: str) -> Drawing:
    """Mean semantic entropy and mean epistemic uncertainty of each model, by benchmark."""
    means = items.group_by("benchmark", "model", maintain_order=True).agg(pl.col("se", "epistemic", "aleatoric").mean())
    benchmarks = means["benchmark"].unique(maintain_order=True)
    models = means["model"].unique(maintain_order=True).to_list()
    figure = new_figure(min(2.4 + 0.9 * len(models) * len(benchmarks), 14), 3.4, label)
    panels = np.atleast_1d(figure.subplots(1, len(benchmarks), sharey=True))
    for axes, benchmark in zip(panels, benchmarks, strict=True):
        own = means.filter(benchmark=benchmark)
        places = np.arange(len(own))
        plain(axes)
        axes.bar(places - 0.2, own["se"].fill_null(0), 0.4, color=BLUE, label="semantic entropy")
        axes.bar(places + 0.2, own["epistemic"], 0.4, color=ORANGE, label="epistemic uncertainty")
        axes.hlines(own["aleatoric"], places - 0.42, places + 0.42, color="0.2", label="H(p*)", linewidth=1.2)
        axes.set_xticks(places, own["model"].to_list(), rotation=30, ha="right", fontsize=8)
        axes.set_title(str(benchmark), fontsize=9)
    panels[0].set_ylabel("mean over items, nats", fontsize=9)
    handles = legend_of(panels[:1])
    figure.legend(handles.values(), handles.keys(), fontsize=8, frameon=False, ncols=3, loc="outside lower center")
    return Drawing(
        figure,
        "Mean semantic entropy and epistemic uncertainty of each model's items; the line is the mean entropy of p*. A "
        "model whose entropy is far below the line gives one answer where there are several.",
    )
