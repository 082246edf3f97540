"""Stage `validation`: can the recommended estimator be trusted on a model, by the labels that the study has?

It is fitted on the `train` rows of all labelled domains but one, and estimates these rows of that one; fitted on all,
it estimates the domains that nobody has labelled, with intervals that follow from its errors on the labelled ones.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.analyses.accuracy.showing.verdicts import LEVEL, Domain, Method, ModelValidation
from entropy_sentinel.estimators.catalogue import RECOMMENDED
from entropy_sentinel.estimators.estimator import Estimator, Unfitted
from entropy_sentinel.estimators.fit import fit, score
from entropy_sentinel.estimators.settings import EstimationSettings
from entropy_sentinel.estimators.validation import Validation, validate
from entropy_sentinel.stages.estimate import by_signals, read_raw, training_rows
from entropy_sentinel.statistics.intervals import Residuals


def write_validation(observations: str, settings: EstimationSettings, output: str) -> None:
    """Validate on one model's file `observations`, and write what `verdicts.read_validations` reads.

    The estimators of `settings` are compared, the recommended among them.
    """
    rows, _ = read_raw(observations)
    validation(rows, settings).write(output)


def validation(observations: pl.DataFrame, settings: EstimationSettings) -> ModelValidation:
    """What is known of the recommended estimator from the observations of one model."""
    labels = observations.group_by("benchmark", maintain_order=True).agg(n=pl.col("label").count())
    labelled = labels.filter(pl.col("n") > 0)["benchmark"].to_list()
    group = "+".join(labelled)
    found = _validations(observations, group, settings)
    training = training_rows(observations, group, settings)
    own, recommended = found[RECOMMENDED], fit(training, [RECOMMENDED])[RECOMMENDED]
    if isinstance(recommended, Unfitted):
        chosen: dict[str, Any] = {"method": None, "reason": recommended.reason}
    else:
        chosen = recommended.chosen or {}
    return ModelValidation(
        model=observations["model"][0],
        verdict=own.verdict,
        reasons=own.reasons,
        method=chosen["method"],
        method_reason=chosen["reason"],
        methods=tuple(_method(one) for one in found.values()),
        coverage=tuple(map(asdict, own.coverage)),
        left_out=tuple(_left_out(own)),
        unlabelled=tuple(_unlabelled(observations, labelled, recommended, own.residuals)),
        n_training=len(training),
        training_accuracy=training.accuracy if len(training) else None,
        caution=training.caution,
        error_at_least=own.error_at_least,
        error_at_most=own.error_at_most,
    )


def _validations(observations: pl.DataFrame, group: str, settings: EstimationSettings) -> dict[str, Validation]:
    """The validations of all estimators, in their order; each is on the rows that it can see."""
    found: dict[str, Validation] = {}
    for seen, names in by_signals(observations, settings["estimators"]):
        training = training_rows(seen, group, settings)
        found |= {name: validate(training, name) for name in names}
    return {name: found[name] for name in settings["estimators"]}


def _method(found: Validation) -> Method:
    return Method(found.estimator, found.n_counted, found.aee, found.rho, found.bias)


def _left_out(own: Validation) -> Iterable[Domain]:
    """The labelled domains, by falling true accuracy; the interval of each follows from the errors on the others."""
    residuals, place = own.residuals, 0
    found = []
    for one in own.domains:
        if one.estimated is None:
            found.append(Domain(one.domain, one.n, None, None, None, None, one.true, one.reason))
            continue
        found.append(_with_intervals(residuals.without(place), one.domain, one.n, one.estimated, one.true))
        place += 1
    return sorted(found, key=lambda one: one.true or 0, reverse=True)


def _unlabelled(
    observations: pl.DataFrame, labelled: Sequence[str], estimator: Estimator | Unfitted, residuals: Residuals
) -> Iterable[Domain]:
    """The domains without any label, each with its estimate or the reason why there is none."""
    for (name,), rows in observations.filter(~pl.col("benchmark").is_in(labelled)).group_by(
        "benchmark", maintain_order=True
    ):
        featured = rows.filter(pl.col("feature_reason").is_null())
        n = featured["item_id"].n_unique()
        estimated = score(estimator, featured, {name: featured["feature_reason"].is_null().to_numpy()})[name]
        if estimated is None:
            reason = "no row of the domain has features"
            if isinstance(estimator, Unfitted) and not featured.is_empty():
                reason = estimator.reason
            yield Domain(name, n, None, None, None, None, None, reason)
        else:
            yield _with_intervals(residuals, name, n, estimated, None)


def _with_intervals(residuals: Residuals, name: str, n: int, estimated: float, true: float | None) -> Domain:
    """The domain with the intervals of its estimate that follow from these errors."""
    lower, upper, basis = residuals.intervals([estimated], [n], LEVEL)
    ends = residuals.conformal([estimated], [n], LEVEL)
    conformal = [None if np.isnan(one[0]) else float(one[0]) for one in (ends.lower, ends.upper)]
    return Domain(name, n, estimated, float(lower[0]), float(upper[0]), basis, true, None, *conformal)
