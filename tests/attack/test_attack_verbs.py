"""What a notebook may hand to a verb: it works, or an error of this project says what it must be and what it was."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from attack_cases import LONGEST_MESSAGE, time_limit
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator

pytestmark = pytest.mark.slow


@cache
def features() -> pl.DataFrame:
    return es.features(es.read_logs(TINY.traces))


@cache
def labels() -> pl.DataFrame:
    return es.read_labels(TINY.labels)


@cache
def fitted() -> FittedEstimator:
    return es.fit(features(), labels(), "log-3d")


class OfArrow:
    """A table of a library that nobody here knows: Arrow's protocol is all that it has."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._table = frame.to_arrow()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def changed(**columns: pl.Expr) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda frame: frame.with_columns(**columns)


# Tables that say the same: a verb gives what it gives of the frame of Polars.
SAME: dict[str, Callable[[pl.DataFrame], Any]] = {
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "pandas with an index": lambda frame: frame.to_pandas().set_index(np.arange(len(frame)) * 7),
    "pandas of Arrow's types": lambda frame: frame.to_pandas(use_pyarrow_extension_array=True),
    "Arrow": lambda frame: frame.to_arrow(),
    "Arrow in chunks": lambda frame: pa.concat_tables([frame[:50].to_arrow(), frame[50:].to_arrow()]),
    "Arrow by its protocol": OfArrow,
    "columns in another order": lambda frame: frame.select(sorted(frame.columns)),
    "a column more": changed(more=pl.lit([1, 2], pl.List(pl.Int64))),
    "categories": lambda frame: frame.with_columns(pl.col("item_id").cast(pl.Categorical)),
}
USES: dict[str, Callable[[Any], pl.DataFrame]] = {
    "fit": lambda given: es.estimate(es.fit(given, labels(), "log-3d"), features()),
    "estimate": lambda given: es.estimate(fitted(), given),
    "monitor": lambda given: es.monitor(fitted(), given, by=["benchmark"]).slices,
    "sample": lambda given: es.sample(fitted(), given, ["benchmark"], 40).slices,
}
LABEL_USES: dict[str, Callable[[Any], pl.DataFrame]] = {
    "fit": lambda given: es.estimate(es.fit(features(), given, "log-3d"), features()),
    "estimate": lambda given: es.estimate(fitted(), features(), labels=given),
    "monitor": lambda given: es.monitor(fitted(), features(), by=["benchmark"], labels=given).slices,
}


def pairs(uses: Mapping[str, Any], kinds: Iterable[str]) -> list[tuple[str, str]]:
    """Every kind for `estimate`, and one in five for each other verb: all verbs read a table in one place."""
    return [(verb, kind) for verb in uses for kind in list(kinds)[:: 1 if verb == "estimate" else 5]]


@pytest.mark.parametrize(("verb", "kind"), pairs(USES, SAME))
def test_any_table_of_features(verb: str, kind: str) -> None:
    assert USES[verb](SAME[kind](features())).equals(USES[verb](features()))


@pytest.mark.parametrize(("verb", "kind"), pairs(LABEL_USES, SAME))
def test_any_table_of_labels(verb: str, kind: str) -> None:
    assert LABEL_USES[verb](SAME[kind](labels())).equals(LABEL_USES[verb](labels()))


def nothing() -> list[Any]:
    return [None, 7, 0.5, float("nan"), True, b"bytes", object(), [], {}, [1], [None], {"a": 1}, lambda: None, "", "."]


def refused(act: Callable[[], Any]) -> str | None:
    """What an error of this project says; None where there is none."""
    message = None
    with time_limit():
        try:
            act()
        except EntropySentinelError as error:
            message = str(error)
    assert message is None or 0 < len(message) <= LONGEST_MESSAGE
    return message


ODD: dict[str, Callable[[pl.DataFrame], Any]] = {
    "a series": lambda frame: frame.to_series(0),
    "a series of pandas": lambda frame: frame.to_pandas().iloc[:, 0],
    "an array": lambda frame: frame.select(pl.len()).to_numpy(),
    "rows": lambda frame: frame.to_dicts(),
    "columns": lambda frame: frame.to_dict(as_series=False),
    "no row": lambda frame: frame.clear(),
    "no column": lambda frame: frame.select(),
    "a frame of nothing": lambda _: pl.DataFrame(),
    "a pandas of nothing": lambda _: pd.DataFrame(),
    "a lazy frame that fails": lambda frame: frame.lazy().with_columns(pl.col("nowhere")),
    "pandas of mixed types": lambda frame: frame.to_pandas().assign(item_id=[1, "a"] * (len(frame) // 2)),
    "pandas of objects": lambda frame: frame.to_pandas().assign(item_id=[object()] * len(frame)),
    "pandas of two columns of a name": lambda frame: pd.concat([frame.to_pandas()] * 2, axis=1),
    "every column null": lambda frame: frame.with_columns(pl.lit(None).alias(name) for name in frame.columns),
    "every column text": lambda frame: frame.select(pl.exclude(pl.List).cast(pl.String)),
    "every column a list": lambda frame: frame.select(pl.concat_list(name) for name in frame.columns),
    "rows twice": lambda frame: pl.concat([frame, frame]),
}
LOOKED_AT = ("item_id", "model", "reason", "max", "se_sum", "benchmark", "sample", "cut_off", "n_tokens")
OWN = dict.fromkeys(("usable", "n_rows", "order", "weight", "label"), pl.lit(1))
ODD_FEATURES: dict[str, Callable[[pl.DataFrame], Any]] = {
    **{f"without {name}": lambda frame, name=name: frame.drop(name) for name in LOOKED_AT},
    **{f"{name} null": changed(**{name: pl.lit(None)}) for name in LOOKED_AT},
    "NaN": changed(max=pl.lit(float("nan"))),
    "one NaN": changed(max=pl.when(pl.int_range(pl.len()) == 5).then(float("nan")).otherwise("max")),
    "infinite": changed(max=pl.lit(float("inf"))),
    "a feature of text": changed(max=pl.lit("much")),
    "a feature of Decimal": changed(max=pl.col("max").cast(pl.Decimal(20, 10))),
    "a feature of dates": changed(max=pl.lit(0).cast(pl.Date)),
    "a reason of numbers": changed(reason=pl.lit(7)),
    "a sample of text": changed(sample=pl.lit("first")),
    "a negative sample": changed(sample=pl.lit(-1)),
    "an item_id of numbers": changed(item_id=pl.int_range(pl.len())),
    "an item_id of lists": changed(item_id=pl.concat_list("item_id")),
    "log-probabilities of its own": changed(top_k_returned=pl.int_range(pl.len())),
    "a column called slice": changed(slice=pl.lit("a")),
    "columns of the verbs' own": changed(**OWN),
}
# What is wrong with these is said by name, whichever verb is asked.
NAMED = {
    "without item_id": "column 'item_id' is missing",
    "without model": "column 'model' is missing",
    "without benchmark": "column 'benchmark' is missing",
    "without reason": "column 'reason' is missing",
    "without max": "column 'max' is missing",
    "max null": "'max' must be a finite number, got None",
    "NaN": r"row 0 \(item 'averages-00000'\): 'max' must be a finite number, got nan",
    "one NaN": r"row 5 \(item 'averages-00005'\): 'max' must be a finite number, got nan",
    "infinite": "'max' must be a finite number, got inf",
    "a feature of text": "column 'max' must be Float64, got String",
    "a sample of text": "column 'sample' must be UInt16, got String",
    "a negative sample": "column 'sample' must be UInt16, got Int32",
    "a series": "must be a Polars, pandas or Arrow table, got Series|must be paths, folders",
}


@pytest.mark.parametrize(("verb", "kind"), pairs(USES, [*ODD, *ODD_FEATURES]))
def test_odd_features(verb: str, kind: str) -> None:
    message = refused(lambda: USES[verb]((ODD | ODD_FEATURES)[kind](features())))
    if kind in NAMED:
        assert pl.Series([message]).str.contains(NAMED[kind]).item(), message


ODD_LABELS: dict[str, Callable[[pl.DataFrame], Any]] = {
    "without item_id": lambda frame: frame.drop("item_id"),
    "without label": lambda frame: frame.drop("label"),
    "labels of numbers": changed(label=pl.lit(1)),
    "labels of text": changed(label=pl.lit("yes")),
    "labels of NaN": changed(label=pl.lit(float("nan"))),
    "all labels null": changed(label=pl.lit(None)),
    "an item_id of numbers": changed(item_id=pl.int_range(pl.len())),
    "samples of text": changed(sample=pl.lit("first")),
    "samples of lists": changed(sample=pl.concat_list("item_id")),
    "models of numbers": changed(model=pl.lit(7)),
    "weights of text": changed(weight=pl.lit("heavy")),
    "weights of NaN": changed(weight=pl.lit(float("nan"))),
    "weights of 0": changed(weight=pl.lit(0)),
    "weights below 0": changed(weight=pl.lit(-1)),
    "weights of infinity": changed(weight=pl.lit(float("inf"))),
}


@pytest.mark.parametrize(("verb", "kind"), pairs(LABEL_USES, [*ODD, *ODD_LABELS]))
def test_odd_labels(verb: str, kind: str) -> None:
    refused(lambda: LABEL_USES[verb]((ODD | ODD_LABELS)[kind](labels())))


@pytest.mark.parametrize("verb", ["estimate", "monitor", "sample"])
def test_slices(verb: str) -> None:
    rows = features().with_columns(slice=pl.col("benchmark"), parts=pl.lit([1, 2], pl.List(pl.Int64)))
    use = {
        "estimate": lambda by: es.estimate(fitted(), rows, by),
        "monitor": lambda by: es.monitor(fitted(), rows, by).slices,
        "sample": lambda by: es.sample(fitted(), rows, by, 40).slices,
    }[verb]
    assert use("benchmark").equals(use(["benchmark"]))
    assert use(("benchmark",)).equals(use(["benchmark"]))
    assert len(use([])) == 1
    assert len(use(())) == 1
    assert len(use(["slice"])) == len(use(["benchmark"])) == 4
    for by, message in {
        "nowhere": "nowhere",
        7: "by: must be names of columns, got 7",
        (None,): "by: must be names of columns, got None",
        None: "by: must be names of columns, got None",
        (7, "benchmark"): "by: must be names of columns, got 7",
    }.items():
        assert message in refused(lambda by=by: use(by))
    assert "column 'parts' must have one value per response, got List" in refused(lambda: use(["parts"]))


VERBS: dict[str, Callable[[Any], Any]] = {
    "read_logs": lambda odd: es.read_logs(odd),
    "open_logs": lambda odd: list(es.open_logs(odd)),
    "read_features": lambda odd: es.read_features(odd),
    "read_labels": lambda odd: es.read_labels(odd),
    "features": lambda odd: es.features(odd),
    "load": lambda odd: es.load(odd),
    "save": lambda odd: es.save(odd, "nowhere"),
    "fit, features": lambda odd: es.fit(odd, labels()),
    "fit, labels": lambda odd: es.fit(features(), odd),
    "fit, estimator": lambda odd: es.fit(features(), labels(), odd),
    "fit, settings": lambda odd: es.fit(features(), labels(), "log-3d", odd),
    "fit, domain": lambda odd: es.fit(features(), labels(), "log-3d", domain=odd),
    "estimate, estimator": lambda odd: es.estimate(odd, features()),
    "estimate, features": lambda odd: es.estimate(fitted(), odd),
    "estimate, labels": lambda odd: es.estimate(fitted(), features(), labels=odd),
    "estimate, by": lambda odd: es.estimate(fitted(), features(), odd),
    "monitor, estimator": lambda odd: es.monitor(odd, features()),
    "monitor, logs": lambda odd: es.monitor(fitted(), odd),
    "monitor, labels": lambda odd: es.monitor(fitted(), features(), labels=odd),
    "monitor, by": lambda odd: es.monitor(fitted(), features(), odd),
    "sample, estimator": lambda odd: es.sample(odd, features()),
    "sample, logs": lambda odd: es.sample(fitted(), odd),
    "sample, by": lambda odd: es.sample(fitted(), features(), odd),
    "sample, budget": lambda odd: es.sample(fitted(), features(), (), odd),
}


@pytest.mark.parametrize("verb", VERBS)
def test_things_that_are_none(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for odd in nothing():
        refused(lambda odd=odd: VERBS[verb](odd))


def test_settings_of_a_fit() -> None:
    for settings, message in {
        (("trees", "many"),): "settings: trees: .*'?\"?many",
        (("forests", 1),): "settings: .*forests",
        (("folds", -1),): "settings: folds",
    }.items():
        result = refused(lambda settings=settings: es.fit(features(), labels(), "log-3d", dict(settings)))
        assert pl.Series([result]).str.contains(message).item(), result
