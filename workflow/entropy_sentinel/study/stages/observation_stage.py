"""Stage `observation`: join the rows of one model that estimators use."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ProvenanceError
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.features.feature_settings import SplitSettings
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import LOGPROBS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.schemas.response_schema import RESPONSE, SAMPLE
from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS, observation_contract
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.statistics.splits import split_items

# Facts that must be equal in all traces that an estimator is fitted on or applied to.
KIND_KEYS = (*LOGPROBS, "sampling", "commit")


def write_observations(
    benchmarks: Sequence[str],
    labels: Sequence[str],
    features: Sequence[str],
    split: SplitSettings,
    output: str,
    signals: Sequence[str] = (),
) -> None:
    """Join the files of one model into one: per benchmark one of items, of labels and of features.

    `signals` are files of further signals, any number per benchmark. Raises ProvenanceError if the traces differ in the
    kind of log-probabilities, in sampling, or in the commit of the weights.
    """
    first_kind = _read_kind(features[0])
    for path in features[1:]:
        kind = _read_kind(path)
        if kind != first_kind:
            raise ProvenanceError(
                f"{path}: its traces differ in kind from those of {features[0]}: {kind} instead of {first_kind}; "
                "generate both with the same settings"
            )
    frame = join_observations(
        pl.concat(_assign_splits(BENCHMARKS.read(path), split) for path in benchmarks),
        pl.concat(map(LABELS.read, labels)),
        pl.concat(map(FEATURE_FRAME.read, features)),
    )
    provenance: dict[str, Any] = {"logprobs": first_kind, "split": dict(split)}
    files_by_family: dict[str, list[str]] = {}
    for path in signals:
        files_by_family.setdefault(read_provenance(path)["family"], []).append(path)
    for family, paths in files_by_family.items():
        contract = signal_contract(FAMILIES[family])
        rows = pl.concat(contract.read(path) for path in paths)
        frame = frame.join(rows, on=RESPONSE, how="left", maintain_order="left", validate="1:1")
    if files_by_family:
        provenance["families"] = list(files_by_family)
    observation_contract(files_by_family).write(frame, output, provenance)


def _read_kind(path: str) -> dict[str, Any]:
    """The facts in a file's provenance that must be equal for all traces of an estimator."""
    provenance = read_provenance(path)
    return {key: provenance.get(key) for key in KIND_KEYS}


def _assign_splits(items: pl.DataFrame, split: SplitSettings) -> pl.DataFrame:
    """The items with their `split`, train or test, and the `kind` of their question."""
    kinds = items.select("item_id", kind="group")
    return split_items(items, **split).join(kinds, on="item_id", maintain_order="left", validate="1:1")


def join_observations(items: pl.DataFrame, labels: pl.DataFrame, features: pl.DataFrame) -> pl.DataFrame:
    """Join features and labels on item and sample, and the items' split and kind; a frame of contract OBSERVATIONS.

    Item ids begin with their benchmark's name, so that those of all benchmarks differ.
    """
    return (
        features.rename({"reason": "feature_reason"})
        .join(
            labels.rename({"reason": "label_reason"}),
            on=SAMPLE,
            how="left",
            maintain_order="left",
            validate="1:1",
        )
        .join(items, on="item_id", how="left", maintain_order="left", validate="m:1")
        .select(OBSERVATIONS.schema.names())
    )
