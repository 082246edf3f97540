"""Stage `estimator`: the kept estimators of a named group, each as a file, and their P(correct) by response."""

from collections.abc import Iterable, Sequence
from itertools import islice

import polars as pl

from entropy_sentinel.estimators.about import about
from entropy_sentinel.estimators.estimator import Estimator, Unfitted
from entropy_sentinel.estimators.fit import fit
from entropy_sentinel.estimators.saved import save_estimator
from entropy_sentinel.estimators.settings import EstimationSettings
from entropy_sentinel.frames.estimate import SCORES
from entropy_sentinel.stages.estimate import by_signals, read_raw, training_rows
from entropy_sentinel.statistics.ambiguity import ambiguous_shares


def write_groups(
    observations: str,
    groups: Sequence[tuple[str, EstimationSettings]],
    estimators: Sequence[str],
    scores: Sequence[str],
) -> None:
    """Write the estimators of several training groups, each with its settings: their files one group after another."""
    files = iter(estimators)
    for (group, settings), scores_file in zip(groups, scores, strict=True):
        write_estimators(observations, group, settings, list(islice(files, len(settings["estimators"]))), scores_file)


def write_estimators(
    observations: str, group: str, settings: EstimationSettings, outputs: Sequence[str], scores: str
) -> None:
    """Fit the group's (`a+b`) estimators `settings["estimators"]` and write each to its file of `outputs`.

    P(correct) of all responses with features goes to `scores`.
    """
    rows, logprobs = read_raw(observations)
    trained = rows.filter(pl.col("benchmark").is_in(group.split("+")), pl.col("split") == "train")
    whose = {"model": rows["model"][0], "group": group, "logprobs": logprobs, "ambiguous": ambiguous_shares(trained)}
    paths, found = dict(zip(settings["estimators"], outputs, strict=True)), []
    for seen, names in by_signals(rows, settings["estimators"]):
        training = training_rows(seen, group, settings)
        fitted = fit(training, names)
        for name, estimator in fitted.items():
            save_estimator(estimator, paths[name], whose | about(estimator, training))
        found.append(p_correct(fitted.values(), seen))
    SCORES.write(pl.concat([SCORES.schema.to_frame(), *found]), scores, whose)


def p_correct(estimators: Iterable[Estimator | Unfitted], observations: pl.DataFrame) -> pl.DataFrame:
    """P(correct) of every response with features by every estimator that gives one; a frame of contract SCORES."""
    featured = observations.filter(pl.col("feature_reason").is_null())
    found = {one.name: one.p_correct(featured) for one in estimators if isinstance(one, Estimator) and len(featured)}
    parts = [
        featured.select(
            "model", "benchmark", "item_id", "sample", estimator=pl.lit(name), p=pl.Series(p, dtype=pl.Float64)
        )
        for name, p in found.items()
        if p is not None
    ]
    return pl.concat([SCORES.schema.to_frame(), *parts])
