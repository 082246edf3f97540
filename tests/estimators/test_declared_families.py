"""Families of estimators that an extension declares: fitted, saved and loaded like the others, and what is refused."""

from pathlib import Path

import polars as pl
import pytest
from extended import extension, printed, ran
from tiny import TINY

pytestmark = pytest.mark.slow

INIT = """
def features():
    from entropy_sentinel.features.feature_declaration import Feature, H, X

    return {"last": Feature("last", "Last H", "H(t) of the last token", "nats", H(X.last()))}


def _nearest():
    from mine import nearest

    return nearest


def _both():
    from mine import both

    return both


def estimators():
    from entropy_sentinel.estimators.family_declaration import EstimatorFamily

    titles = {f"nearest-{name}": f"Nearest domain, {name}" for name in ("last", "max")}
    members = ("nearest-last", "atc-last")
    return {
        "nearest": EstimatorFamily("nearest", "the nearest domain", _nearest, titles, {"nearest-last": ("last",)}),
        "both": EstimatorFamily("both", "the mean of two", _both, {"both": "Both"}, members={"both": members}),
    }
"""
NEAREST = '''
"""The accuracy of the labelled domain whose mean of a feature is nearest."""

from dataclasses import dataclass

import numpy as np

from entropy_sentinel.estimators.estimator_base import Estimator


@dataclass(frozen=True)
class Nearest(Estimator):
    feature: str
    means: tuple[float, ...]
    shares: tuple[float, ...]

    def values(self, features):
        return features[[self.feature]].to_numpy()

    def accuracies_of(self, means):
        return np.asarray(self.shares)[np.abs(np.subtract.outer(means[:, 0], self.means)).argmin(axis=1)]


SAVED = (Nearest,)


def fit(name, rows):
    rows.require_rows()
    feature = name.partition("-")[2]
    parts = [rows.domains == domain for domain in np.unique(rows.domains)]
    column = rows.features[feature].to_numpy()
    means, shares = ([float(values[part].mean()) for part in parts] for values in (column, rows.y))
    return Nearest(name, feature, tuple(means), tuple(shares))
'''
BOTH = '''
"""The mean of two estimators."""

from dataclasses import dataclass

import numpy as np

from entropy_sentinel.estimators.estimator_base import Estimator


@dataclass(frozen=True)
class Both(Estimator):
    one: Estimator
    other: Estimator

    def values(self, features):
        return np.hstack([self.one.values(features), self.other.values(features)])

    def accuracies_of(self, means):
        return (self.one.accuracies_of(means[:, [0]]) + self.other.accuracies_of(means[:, [1]])) / 2


SAVED = (Both,)


def fit(name, rows):
    return Both(name, rows.require("nearest-last"), rows.require("atc-last"))
'''
NAMES = ("nearest-last", "nearest-max", "atc-last", "both")
FIT = f"""
import json
import polars as pl
import entropy_sentinel as es
from entropy_sentinel.estimators import estimator_registry
from entropy_sentinel.core.errors import ConfigError

features, labels = es.read_features({str(TINY.traces)!r}), pl.read_parquet({str(TINY.labels)!r})
estimates = {{}}
for name in {NAMES}:
    fitted = es.fit(features, labels, name)
    es.save(fitted, f"{{name}}.estimator")
    estimates[name] = es.estimate(fitted, features, by=["benchmark"]).sort("benchmark")["estimated_accuracy"].to_list()
try:
    estimator_registry.family_of("nothing")
except ConfigError as error:
    message = str(error)
print(json.dumps({{
    "estimates": estimates,
    "signals": {{name: estimator_registry.signals_of(name) for name in {NAMES}}},
    "last": estimator_registry.ESTIMATORS[-3:],
    "families": [family.name for family in estimator_registry.FAMILIES],
    "titles": [estimator_registry.estimator_title(name) for name in estimator_registry.ESTIMATORS[-3:]],
    "message": message,
}}))
"""
LOAD = f"""
import json
import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError

features, found = es.read_features({str(TINY.traces)!r}), {{}}
for name in {NAMES}:
    try:
        fitted = es.load(f"{{name}}.estimator")
    except InputError as error:
        found[name] = str(error)
    else:
        found[name] = es.estimate(fitted, features, by=["benchmark"]).sort("benchmark")["estimated_accuracy"].to_list()
print(json.dumps(found))
"""


def test_a_declared_family_is_fitted_saved_and_loaded(tmp_path: Path) -> None:
    mine = extension(tmp_path / "mine", INIT, nearest=NEAREST, both=BOTH)
    found = printed(tmp_path, FIT, mine)
    assert found["last"] == ["nearest-last", "nearest-max", "both"]
    assert found["families"][-3:] == ["doc", "nearest", "both"]
    assert found["titles"] == ["Nearest domain, last", "Nearest domain, max", "Both"]
    assert found["signals"] == {"nearest-last": ["last"], "nearest-max": [], "atc-last": ["last"], "both": ["last"]}
    assert "nearest-last, nearest-max, both; signals:" in found["message"]
    # Every domain is nearest to itself.
    labels = pl.read_parquet(TINY.labels).group_by(pl.col("item_id").str.replace(r"-\d+$", "")).agg(pl.mean("label"))
    estimates = found["estimates"]
    assert estimates["nearest-last"] == pytest.approx(labels.sort("item_id")["label"].to_list())
    assert estimates["both"] == pytest.approx(
        [sum(pair) / 2 for pair in zip(estimates["nearest-last"], estimates["atc-last"], strict=True)]
    )
    assert printed(tmp_path, LOAD, mine) == estimates
    # Without the extension, every file says what is missing.
    refused = printed(tmp_path, LOAD)
    for name, message in refused.items():
        missing = "the estimator 'nearest-max'" if name == "nearest-max" else "the signal 'last'"
        assert f"{name}.estimator: " in message
        assert missing in message
        assert "ENTROPY_SENTINEL_EXTENSIONS" in message


BEGIN = "def estimators():\n    from entropy_sentinel.estimators.family_declaration import EstimatorFamily\n\n"


@pytest.mark.parametrize(
    ("families", "facts"),
    [
        ('{"own": 7}', ("'own'", "entropy_sentinel.estimators.family_declaration.EstimatorFamily", "int")),
        ('{"own": EstimatorFamily("other", "o", print, {"own": "Own"})}', ("'own'", "'other'", "estimators()")),
        (
            '{"own": EstimatorFamily("own", "o", print, {"atc-max": "A"})}',
            ("'atc-max'", "'atc'", "entropy_sentinel.estimators"),
        ),
        ('{"own": EstimatorFamily("own", "o", print, {"an/other": "A"})}', ("'an/other'", "a-name")),
        ('{"atc": EstimatorFamily("atc", "o", print, {"own": "Own"})}', ("'atc'", "entropy_sentinel.estimators (")),
    ],
)
def test_a_wrong_family_is_refused_with_its_module(families: str, facts: tuple[str, ...], tmp_path: Path) -> None:
    mine = extension(tmp_path / "mine_wrong", f"{BEGIN}    return {families}\n")
    error = ran(tmp_path, "import entropy_sentinel.estimators.estimator_registry", mine).stderr.splitlines()[-1]
    assert error.startswith("entropy_sentinel.core.errors.ConfigError: ")
    for fact in ("mine_wrong", *facts):
        assert fact in error


def test_a_family_that_does_not_work_is_refused_where_it_is_used(tmp_path: Path) -> None:
    init = f"""
def _missing():
    import a_package_that_is_missing


{BEGIN}
    return {{
        "nothing": EstimatorFamily("nothing", "n", lambda: None, {{"nothing": "N"}}),
        "missing": EstimatorFamily("missing", "m", _missing, {{"missing": "M"}}),
        "unknown": EstimatorFamily("unknown", "u", lambda: None, {{"unknown": "U"}}, {{"unknown": ("no_signal",)}}),
    }}
"""
    code = """
import json
from entropy_sentinel.estimators import estimator_registry
from entropy_sentinel.core.errors import ConfigError

messages = []
for function, name in (("module_of", "nothing"), ("module_of", "missing"), ("signals_of", "unknown")):
    try:
        getattr(estimator_registry, function)(name)
    except ConfigError as error:
        messages.append(str(error))
print(json.dumps(messages))
"""
    nothing, missing, unknown = printed(tmp_path, code, extension(tmp_path / "mine_broken", init))
    for message, facts in (
        (nothing, ("'nothing'", "`fit(name, rows)`", "None")),
        (missing, ("'missing'", "a_package_that_is_missing")),
        (unknown, ("'unknown'", "'no_signal'")),
    ):
        for fact in ("mine_broken", *facts):
            assert fact in message
    assert "entropy-sentinel[study]" not in missing
