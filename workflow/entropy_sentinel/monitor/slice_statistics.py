"""The statistics of a slice that this package has, declared in this folder's `__init__.py`."""

import polars as pl

from entropy_sentinel.monitor.alert_codes import Flag
from entropy_sentinel.monitor.column_declaration import Statistic
from entropy_sentinel.statistics.ambiguity import LEAST_STABLE_CLASSES

# The family `semantics` gives all responses to a question the same `stable_classes`. Only the first response counts, so
# that sums over files do not depend on which samples each file contains.
_FIRST, _STABLE = pl.col("sample") == 0, pl.col("stable_classes").cast(pl.Float64, strict=False)

STATISTICS: dict[str, Statistic] = {
    statistic.name: statistic
    for statistic in (
        Statistic("n_responses", "Responses.", "responses", "responses", each=pl.lit(True)),
        Statistic(
            name="n_estimated",
            meaning="Responses with an estimate; without an estimator, those with an answer.",
            unit="responses",
            metric="estimated_responses",
            each=pl.col("excluded").is_null(),
        ),
        Statistic(
            name="n_overridden",
            meaning="Responses with an estimate that differ from the training data.",
            unit="responses",
            each=pl.col("overridden"),
        ),
        Statistic(
            name="n_same_model",
            meaning="Responses with an estimate whose model's name counts as the estimator's (`--same-model`).",
            unit="responses",
            metric="same_model_responses",
            each=pl.col("same_model"),
            absent_is_zero=True,
        ),
        Statistic(
            name="cut_off_share",
            meaning="Share of the estimated responses that were truncated.",
            unit="1",
            metric="cut_off_share",
            each=pl.col("cut_off"),
            of="n_estimated",
            heading="truncated",
            form=".0%",
            flag=Flag.TRUNCATED.words,
            flagged="were truncated",
        ),
        Statistic(
            name="n_questions",
            meaning="Questions with a known number of stable answer classes.",
            unit="questions",
            metric="questions",
            each=_FIRST & _STABLE.is_not_null(),
        ),
        Statistic(
            name="ambiguous_share",
            meaning="Share of these questions with several stable classes.",
            unit="1",
            metric="ambiguous_share",
            each=_STABLE >= LEAST_STABLE_CLASSES,
            of="n_questions",
        ),
    )
}
