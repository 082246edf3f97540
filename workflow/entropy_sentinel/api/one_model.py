"""Notice responses of a second model while logs are read: an estimator is for one model."""

from collections import Counter

import polars as pl

from entropy_sentinel.api.input_checks import refuse_several_values
from entropy_sentinel.logs.label_table import LABEL_QUESTION
from entropy_sentinel.schemas.response_schema import RESPONSE


class OneModel:
    """The models of the labelled responses so far.

    Calling it with the next features raises InputError if a second model is among them, so that nobody waits for the
    rest of the logs.
    """

    def __init__(self, labels: pl.DataFrame | None) -> None:
        """Take the labels; without any, those of the features count."""
        self._models = Counter[str]()
        self._labelled: pl.DataFrame | None = None
        self._key: list[str] = []
        if labels is not None:
            self._key = [name for name in RESPONSE if name in labels.columns]
            self._labelled = labels.filter(pl.col("label").is_not_null()).select(self._key).unique()
        # Labels may belong to questions instead of responses, which all features together show.
        self._is_undecided = labels is not None and LABEL_QUESTION in labels.columns

    def __call__(self, features: pl.DataFrame) -> None:
        """Count the models of the next features."""
        if self._is_undecided:
            return
        rows = features.filter(pl.col("reason").is_null())
        if self._labelled is not None:
            rows = rows.join(self._labelled, on=self._key, how="semi")
        elif "label" in rows.columns:
            rows = rows.filter(pl.col("label").is_not_null())
        else:
            return
        self._models.update(dict(rows["model"].drop_nulls().value_counts().iter_rows()))
        refuse_several_values("model", dict(self._models.most_common()), is_partial=True)
