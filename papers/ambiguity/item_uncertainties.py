"""Stage `uncertainties`: the uncertainties of each item for one model, and the estimators' values."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.schemas.contract import check_readable, read_provenance
from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.semantic_clustering.semantic_entropy import semantic_entropy
from papers.ambiguity.ambiguity_exhibits import BY_FREQUENCY, ESTIMATORS, FREQUENCIES, PAPER_FORM, name_dirichlet
from papers.ambiguity.ambiguity_frames import ALIGNED_CLASSES, ESTIMATES, UNCERTAINTIES
from papers.ambiguity.class_alignment import read_classes
from papers.ambiguity.uncertainty import Uncertainty, measure_expected_uncertainty, measure_uncertainty


class UncertaintySettings(TypedDict):
    """The probability of an answer that no sample gave, and the Dirichlet posteriors."""

    epsilon: float
    gammas: list[float]


def write_uncertainties(
    aligned: Sequence[str],
    signals: Sequence[str],
    settings: UncertaintySettings,
    uncertainties_output: str,
    estimates_output: str,
) -> None:
    """Write the uncertainties (UNCERTAINTIES) and the estimators (ESTIMATES) of all items for one model.

    `aligned` are files ALIGNED_CLASSES by benchmark; `signals` are the files of the families that the estimators need.
    """
    classes = pl.concat(map(ALIGNED_CLASSES.read, aligned))
    provenance = {"model": read_provenance(aligned[0])["model"], "settings": dict(settings)}
    UNCERTAINTIES.write(
        UNCERTAINTIES.frame(list(measure_uncertainties(classes, settings))), uncertainties_output, provenance
    )
    by_benchmark: dict[str, dict[str, str]] = {}
    for path in signals:
        origin = read_provenance(path)
        by_benchmark.setdefault(origin["benchmark"], {})[origin["family"]] = path
    items = classes.select("benchmark", "item_id").unique()
    rows = pl.concat(estimate_items(provenance["model"], benchmark, paths) for benchmark, paths in by_benchmark.items())
    # An item without p* has no uncertainty to compare with.
    compared_rows = rows.join(items, on=["benchmark", "item_id"], how="semi", maintain_order="left")
    ESTIMATES.write(compared_rows, estimates_output, provenance)


def measure_uncertainties(aligned: pl.DataFrame, settings: UncertaintySettings) -> Iterator[dict[str, Any]]:
    """Yield a row of UNCERTAINTIES from a frame ALIGNED_CLASSES, for each item and form.

    A form is a way to compute the uncertainty: as in the paper, with another p, or expected over a posterior of p*.
    """
    *keys, _ = UNCERTAINTIES.key  # the last is the form
    for key_values, item_classes in aligned.group_by(keys, maintain_order=True):
        right_answers = item_classes.filter("right")
        item_columns = dict(zip(keys, key_values, strict=True))
        item_columns |= {"n_answers": len(right_answers), "n_imputed": right_answers["p"].null_count()}
        for form, values in _measure_forms(item_classes, right_answers, settings):
            yield item_columns | {"form": form} | values._asdict()


def _measure_forms(
    item_classes: pl.DataFrame, right_answers: pl.DataFrame, settings: UncertaintySettings
) -> Iterator[tuple[str, Uncertainty]]:
    """Yield an item's uncertainties by form; those with a Dirichlet posterior need the counts of all right answers."""
    epsilon, p_star = settings["epsilon"], item_classes["p_star"].to_numpy()
    p, frequency = _fill_nan(item_classes["p"]), _fill_nan(item_classes["frequency"])
    yield PAPER_FORM, measure_uncertainty(p_star, p, epsilon)
    yield "kl-renormalised", measure_uncertainty(p_star, p, epsilon, renormalise=True)
    yield FREQUENCIES, measure_uncertainty(p_star, frequency, epsilon)
    if not right_answers["count"].has_nulls():
        counts, right_p = right_answers["count"], _fill_nan(right_answers["p"])
        for gamma in settings["gammas"]:
            yield name_dirichlet(gamma), measure_expected_uncertainty(counts, right_p, gamma, epsilon)


def _fill_nan(column: pl.Series) -> np.ndarray:
    """A column as an array, with NaN for null."""
    return column.fill_null(float("nan")).to_numpy()


def estimate_items(model: str, benchmark: str, paths: Mapping[str, str]) -> pl.DataFrame:
    """A frame ESTIMATES of one benchmark; `paths` are the files of a model's signals on it, by family."""
    classes = read_classes(paths[ESTIMATORS["se"].family])
    items = classes.group_by("item_id", maintain_order=True).agg(
        pl.col("n_samples").first(), pl.len().alias("n_classes"), pl.col("frequency")
    )
    entropies = [semantic_entropy(shares) for shares in items["frequency"]]
    items = items.with_columns(
        pl.lit(model).alias("model"),
        pl.lit(benchmark).alias("benchmark"),
        pl.Series(BY_FREQUENCY, entropies, pl.Float64),
        pl.lit(None, pl.String).alias(f"{BY_FREQUENCY}_reason"),
    )
    for name, estimator in ESTIMATORS.items():
        if estimator.family in paths:
            values = _read_item_signal(paths[estimator.family], estimator.family, estimator.signal, name)
        else:
            missing_reason = pl.lit(f"run.features has no {estimator.family}").alias(f"{name}_reason")
            values = items.select("item_id", pl.lit(None, pl.Float64).alias(name), missing_reason)
        items = items.join(values, on="item_id", how="left", maintain_order="left", validate="1:1")
    return items.select(ESTIMATES.schema.names()).cast(ESTIMATES.schema)


def _read_item_signal(path: str, family: str, signal: str, name: str) -> pl.DataFrame:
    """Each item's signal, equal for all its responses, as `name`, and the reason for null as `{name}_reason`."""
    contract = signal_contract(FAMILIES[family])
    with check_readable(path, contract.stage):
        lazy = contract.scan(path)
        # A family has one column of reasons, or none if its signals are never null.
        reason_columns = [column for column in lazy.collect_schema() if column.endswith("_reason")]
        reason = pl.col(reason_columns[0]).drop_nulls().first() if reason_columns else pl.lit(None, pl.String)
        value = pl.col(signal).drop_nulls().first()
        rows = lazy.group_by("item_id").agg(value.alias(name), reason.alias("reason")).collect()
    missing_reason = pl.when(pl.col(name).is_null()).then(pl.col("reason").fill_null(f"no {signal}"))
    return rows.select("item_id", name, missing_reason.alias(f"{name}_reason"))
