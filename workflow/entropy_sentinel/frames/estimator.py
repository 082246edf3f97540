"""Stage `estimator`: P(correct) of every response by the kept estimators, `scores/{judge}/{model}/{name}.parquet`."""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE, RESPONSE_COLUMNS

SCORES = Contract(
    stage="scores",
    key=(*RESPONSE, "estimator"),
    columns=(
        *RESPONSE_COLUMNS,
        Column("estimator", pl.String, "a name of estimators/catalogue.py; only those that give a probability"),
        Column("p", pl.Float64, "P(correct); of rows that the estimator was fitted on as of any other", "1"),
    ),
)
