"""Stage `estimator`: P(correct) of every response by the kept estimators, `scores/{judge}/{model}/{name}.parquet`."""

import polars as pl

from entropy_sentinel.frames.contract import Column, Contract
from entropy_sentinel.frames.response import RESPONSE

SCORES = Contract(
    stage="scores",
    key=(*RESPONSE, "estimator"),
    columns=(
        Column("model", pl.String, "language model"),
        Column("benchmark", pl.String, "domain"),
        Column("item_id", pl.String, "item of the benchmark"),
        Column("sample", pl.UInt16, "number of the response among those to the same item"),
        Column("estimator", pl.String, "a name of estimators/catalogue.py; only those that give a probability"),
        Column("p", pl.Float64, "P(correct); of rows that the estimator was fitted on as of any other", "1"),
    ),
)
