"""Stage `observations`: the rows of one model that estimators use, `observations/{judge}/{model}.parquet`."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import polars as pl

from entropy_sentinel.features.feature_registry import CATALOGUE, EXTRAS, WORD_COLUMNS
from entropy_sentinel.schemas.contract import Column, Contract, read_provenance
from entropy_sentinel.schemas.response_schema import RESPONSE, RESPONSE_COLUMNS
from entropy_sentinel.signal_families.signal_registry import FAMILIES

# Followed by the signals of the study's other families.
OBSERVATIONS = Contract(
    stage="observations",
    open=True,
    key=RESPONSE,
    columns=(
        *RESPONSE_COLUMNS,
        Column("split", pl.String, "`train` or `test`: the item's part if its benchmark is in the training group"),
        Column("label", pl.Boolean, "whether the response is correct", nullable=True),
        Column("label_reason", pl.String, "why the label is null, or incorrect without an answer", nullable=True),
        Column("n_tokens", pl.UInt32, "length of the response", "tokens"),
        Column("finish_reason", pl.String, "`stop` if the response is complete (schemas/generation_schema.py)"),
        *(feature.column for feature in CATALOGUE.values()),
        Column("trace_tokens", pl.UInt32, "tokens that the features use", "tokens"),
        Column("cut_off", pl.Boolean, "whether the response was truncated (schemas/generation_schema.py)"),
        Column("clamped_tokens", pl.UInt32, "sampled tokens whose log-probability was -inf or <= -9999", "tokens"),
        Column(
            "displaced_steps", pl.UInt32, "steps whose entropy may lack a term (schemas/generation_schema.py)", "tokens"
        ),
        *(extra.column for extra in EXTRAS.values()),
        Column(
            "kind", pl.String, "kind of question within the benchmark; null if not given", nullable=True, added=True
        ),
        Column("feature_reason", pl.String, "why the features are null", nullable=True),
        *WORD_COLUMNS,
    ),
)

# The domain of a response: its benchmark, or a kind of question within it.
DOMAIN = pl.coalesce(pl.format("{}/{}", "benchmark", "kind"), "benchmark").alias("domain")


def observation_contract(families: Iterable[str]) -> Contract:
    """The columns and dtypes of observations, the rows that estimators use, with the signals of these families.

    Those of the family `tokens`, the features, are always among them.
    """
    columns = list(OBSERVATIONS.columns)
    for family in families:
        columns += [signal.column for signal in FAMILIES[family].signals]
    return replace(OBSERVATIONS, open=False, columns=tuple(columns))


def read_families(path: str | Path) -> list[str]:
    """The families other than `tokens` whose signals a file of observations has."""
    families: list[str] = read_provenance(path).get("families", [])
    return families


def read_observations(path: str | Path) -> pl.DataFrame:
    """All rows of a file of observations, with the signals of its families."""
    return observation_contract(read_families(path)).read(path)
