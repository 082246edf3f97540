"""What an estimator's file may consist of: plain nodes, declared classes, an estimator of the name that it bears."""

import os
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from forged import OWN, Node, dictionary, forge, node, plain, sequence
from rows import SETTINGS, rows
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from entropy_sentinel.estimators import catalogue
from entropy_sentinel.estimators.classifier import ProbabilityEstimator
from entropy_sentinel.estimators.estimator import Estimator
from entropy_sentinel.estimators.parameters import saved_classes
from entropy_sentinel.estimators.saved import load_estimator, save_estimator
from entropy_sentinel.estimators.training import Scaling, TrainingRows
from entropy_sentinel.frames.errors import ContractError, InputError

# A torch that says when it is imported, in the place of the one that may be installed.
LOADS = """
import sys
from entropy_sentinel.estimators.saved import load_estimator
print(load_estimator(sys.argv[1]).estimator.name, "torch" in sys.modules)
from sklearn.externals.array_api_compat import torch
"""
TRAINING = TrainingRows(*rows(), SETTINGS)
ABOUT = {"logprobs": {"logprobs_mode": "raw_logprobs", "top_k_returned": 20}, "model": "tiny"}


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[str], Path]:
    """The file of a fitted estimator, by its name."""

    def keep(name: str) -> Path:
        save_estimator(TRAINING.fit(name), tmp_path / name, ABOUT)
        return tmp_path / name

    return keep


@pytest.mark.parametrize("name", catalogue.ESTIMATORS)
def test_every_family_declares_its_classes(name: str) -> None:
    own, *others = saved_classes(name)
    assert issubclass(own, Estimator)
    assert all(isinstance(one, type) for one in others)


def test_classes_are_those_of_an_estimator_and_its_parts() -> None:
    names = {one.__name__ for one in saved_classes("doc-forest-10d-balanced-isotonic")}
    assert names == {"Doc", "ProbabilityEstimator", "Scaling", "Forest", "Calibrated", "IsotonicRegression"}
    assert [one.__name__ for one in saved_classes("atc-max")] == ["Atc"]


def test_a_class_of_another_family_is_refused(kept: Callable[[str], Path], tmp_path: Path) -> None:
    """An `atc-max` with a logistic regression in it: both are known, and the one is no part of the other."""
    inner = node("ObjectNode", f"{OWN}.classifier.ProbabilityEstimator", content=dictionary())
    forge(kept("atc-max"), tmp_path / "mixed", lambda schema: field(schema, "confidence", inner))
    with pytest.raises(InputError, match=r"mixed: holds a .*ProbabilityEstimator, which is no part of an estimator"):
        load_estimator(tmp_path / "mixed")


def field(schema: Node, name: str, value: Node) -> Node:
    schema["content"]["content"][name] = value
    return schema


FORGED: dict[str, tuple[Callable[[Node], Node], str]] = {
    "another estimator": (
        lambda schema: node("ObjectNode", f"{OWN}.estimator.Unfitted", content=dictionary(name=plain("atc-max"))),
        r"holds a entropy_sentinel.estimators.estimator.Unfitted, which is no part of an estimator",
    ),
    "a list": (lambda schema: sequence(schema), r"holds a builtins.list in the place of the .*atc.Atc that 'atc-max'"),
    "another name": (lambda schema: field(schema, "name", plain("atc-ppl")), "'atc-ppl' in the place of 'atc-max'"),
    "an older form": (lambda schema: schema | {"protocol": 0}, "is of skops' form 0, must be 2"),
    "a form that is a switch": (lambda schema: schema | {"protocol": True}, "is of skops' form True, must be 2"),
    "a node of no kind": (
        lambda schema: field(schema, "threshold", {"content": "1"}),
        "cannot be read .KeyError: '__loader__'",
    ),
    "a node that is not there": (
        lambda schema: field(schema, "threshold", node("CachedNode", "builtins.str", __id__=1)),
        r"holds a builtins.str \(CachedNode\)",
    ),
    "objects in an array": (
        lambda schema: field(
            schema, "threshold", node("NdArrayNode", "numpy.ndarray", type="json", content=[], shape=plain([]))
        ),
        "holds an array of objects",
    ),
    "an array that is called": (
        lambda schema: field(schema, "threshold", node("NdArrayNode", "numpy.fromfile", type="numpy", file="x")),
        "holds a numpy.fromfile, which",
    ),
    "a dict of another class": (
        lambda schema: field(schema, "threshold", node("DictNode", "collections.OrderedDict", content={})),
        "holds a collections.OrderedDict, which",
    ),
    "a subclass by its module": (
        lambda schema: field(schema, "threshold", node("ObjectNode", "sklearn.isotonic.IsotonicRegression")),
        "holds a sklearn.isotonic.IsotonicRegression, which",
    ),
    "a text for a number": (lambda schema: field(schema, "threshold", plain("high")), "cannot estimate"),
    "a share above 1": (
        lambda schema: field(field(schema, "tied_weight", plain(9)), "threshold", plain(-0.5)),
        "its estimates are no shares",
    ),
    "no fields": (
        lambda schema: schema | {"content": dictionary()},
        "holds the estimator None in the place of 'atc-max'",
    ),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_file_is_refused_in_a_line(case: str, kept: Callable[[str], Path], tmp_path: Path) -> None:
    edit, said = FORGED[case]
    forge(kept("atc-max"), tmp_path / "forged", edit)
    with pytest.raises(InputError, match=rf"forged: .*{said}.*; it is not loaded") as refused:
        load_estimator(tmp_path / "forged")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["atc-none", "", None, ["atc-max"], "atc-ppl"])
def test_a_header_that_names_another_is_refused(name: Any, kept: Callable[[str], Path], tmp_path: Path) -> None:
    forge(kept("atc-max"), tmp_path / "forged", lambda schema: schema, header={"name": name})
    with pytest.raises(
        InputError, match=r"forged: (is called|holds the estimator 'atc-max'|the header: 'name' must be)"
    ):
        load_estimator(tmp_path / "forged")


def test_what_unpacks_without_end_is_refused_before_it_is_unpacked(
    kept: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array of 56 bytes of features that is read twenty times counts twenty times."""
    path = kept("baseline-ppl")
    monkeypatch.setattr("entropy_sentinel.estimators.parameters._MOST_BYTES", 20_000)
    load_estimator(path)

    def many(schema: Node) -> Node:
        array = schema["content"]["content"]["scaling"]["content"]["content"]["mean"]
        copies = [{key: value for key, value in array.items() if key != "__id__"}] * 60
        return field(schema, "hyperparameters", sequence(*copies))

    forge(path, tmp_path / "bomb", many)
    with pytest.raises(InputError, match=r"bomb: has \d\d,\d{3} bytes of parameters when they are unpacked, at most"):
        load_estimator(tmp_path / "bomb")


@dataclass(frozen=True)
class Stump:
    """A tree of one split."""

    feature: str
    threshold: float
    above: float
    below: float


@dataclass(frozen=True)
class Boosted(Estimator):
    """Stumps whose sum is the log-odds of a correct response."""

    stumps: tuple[Stump, ...]
    start: float

    def values(self, features: Any) -> np.ndarray:
        total = np.full(len(features), self.start)
        for one in self.stumps:
            total += np.where(features[one.feature].to_numpy() > one.threshold, one.above, one.below)
        return 1 / (1 + np.exp(-total))


def fit_boosted(name: str, rows: TrainingRows) -> Boosted:
    """One round of boosting per feature of three."""
    stumps = [Stump(feature, float(rows.features[feature].median()), -0.2, 0.2) for feature in ("max", "ppl", "mean")]
    return Boosted(name, tuple(stumps), 0.1)


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add a family as CONTRIBUTING says: a module with `fit`, and an entry in the catalogue."""

    def add(name: str, **content: Any) -> None:
        module = types.ModuleType(f"own_{name}")
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        added = catalogue.Family(name, "a family of one's own", module.__name__, {name: name.title()})
        monkeypatch.setitem(catalogue._FAMILY_OF, name, added)

    return add


def test_a_family_of_ones_own_declares_its_classes(family: Callable[..., None], tmp_path: Path) -> None:
    family("boosted", fit=fit_boosted, SAVED=(Boosted, Stump))
    fitted, (features, _) = TrainingRows(*rows(), SETTINGS).fit("boosted"), rows(50, seed=3)
    save_estimator(fitted, tmp_path / "boosted", ABOUT)
    loaded = load_estimator(tmp_path / "boosted").estimator
    assert loaded == fitted
    assert loaded.accuracy(features) == fitted.accuracy(features)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({}, r"own_boosted must name the classes that its files hold, its estimator's first: SAVED"),
        ({"SAVED": (Boosted,)}, r"'boosted' holds a test_parameters.Stump, which is no part of an estimator"),
        ({"SAVED": (Stump, Boosted)}, r"holds a .*Boosted in the place of the .*Stump that 'boosted' is"),
    ],
)
def test_what_would_not_be_loaded_is_not_saved(
    declared: dict[str, Any], said: str, family: Callable[..., None], tmp_path: Path
) -> None:
    family("boosted", fit=fit_boosted, **declared)
    (tmp_path / "old").write_text("an older estimator")
    with pytest.raises(ContractError, match=rf"old: is not written: .*{said}.*names in SAVED"):
        save_estimator(TrainingRows(*rows(), SETTINGS).fit("boosted"), tmp_path / "old", ABOUT)
    assert (tmp_path / "old").read_text() == "an older estimator"


def test_trees_of_scikit_learn_are_not_saved(family: Callable[..., None], tmp_path: Path) -> None:
    """Declared or not: scikit-learn walks them without looking where they lead."""

    def fit(name: str, rows: TrainingRows) -> ProbabilityEstimator:
        classifier = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(rows.scaled(("max", "ppl")), rows.y)
        return ProbabilityEstimator(name, rows.scaling(("max", "ppl")), classifier)

    classes = (ProbabilityEstimator, Scaling, GradientBoostingClassifier, DecisionTreeRegressor)
    family("gradient", fit=fit, SAVED=classes)
    with pytest.raises(ContractError, match=r"'gradient' holds (a \S+ \(\w+Node\)|an array of objects)"):
        save_estimator(TrainingRows(*rows(), SETTINGS).fit("gradient"), tmp_path / "gradient", ABOUT)


def test_what_has_no_form_is_not_saved(family: Callable[..., None], tmp_path: Path) -> None:
    family("boosted", fit=lambda name, rows: Boosted(name, (Lock(),), 0.1), SAVED=(Boosted, Stump))
    with pytest.raises(ContractError, match=r"holds (what cannot be saved|a _thread.lock)"):
        save_estimator(TrainingRows(*rows(), SETTINGS).fit("boosted"), tmp_path / "lock", ABOUT)


@pytest.mark.slow
def test_a_file_is_read_without_torch_which_can_be_imported_afterwards(
    kept: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "torch.py").write_text("print('torch')\nraise ImportError('as far as it goes')")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-c", LOADS, str(kept("atc-max"))]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    assert done.stdout == "atc-max False\ntorch\n"
    assert "as far as it goes" in done.stderr
