"""What an estimator's file may consist of: plain values, declared classes, an estimator of the name that it bears."""

import io
import types
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from forged import Json, field, forge
from rows import SETTINGS, rows
from sklearn.linear_model import LogisticRegression

from entropy_sentinel.core.errors import ContractError, InputError
from entropy_sentinel.estimators import estimator_registry
from entropy_sentinel.estimators.estimator_base import Estimator
from entropy_sentinel.estimators.estimator_file import load_estimator, save_estimator
from entropy_sentinel.estimators.fit_metadata import FitMetadata, LogprobsKind
from entropy_sentinel.estimators.parameter_encoding import NotPlain, _read_array, saved_classes
from entropy_sentinel.estimators.training_rows import TrainingRows

TRAINING = TrainingRows(*rows(), SETTINGS)
LOGPROBS = LogprobsKind(logprobs_mode="raw_logprobs", top_k_returned=20)


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[str], Path]:
    """The file of a fitted estimator, by its name."""

    def keep(name: str) -> Path:
        save_estimator(TRAINING.fit(name), tmp_path / name, FitMetadata(name=name, logprobs=LOGPROBS, model="tiny"))
        return tmp_path / name

    return keep


@pytest.mark.parametrize("name", estimator_registry.ESTIMATORS)
def test_every_family_declares_its_classes(name: str) -> None:
    classes = saved_classes(name)
    assert any(issubclass(part, Estimator) for part in classes)
    assert all(map(is_dataclass, classes))


FORGED: dict[str, tuple[Callable[[Json], Json], str]] = {
    "a class of another family": (
        field("threshold", {"Scaling": {"features": [], "mean": 0, "scale": 1}}),
        "contains a Scaling",
    ),
    "an estimator of another family": (
        field("confidence", {"Atc": {"name": "atc-ppl", "confidence": "ppl", "threshold": 0.1, "tied_weight": 0}}),
        "contains the estimator 'atc-ppl' ",
    ),
    "another class": (lambda tree: {"Recommended": tree["Atc"]}, "contains a Recommended .*Atc or Doc"),
    "two classes": (lambda tree: tree | {"Doc": tree["Atc"]}, "cannot be read .ValueError"),
    "nothing": (lambda tree: None, "cannot be read .AttributeError"),
    "another name": (field("name", "atc-ppl"), "contains the estimator 'atc-ppl' instead of atc-max"),
    "an array that is not there": (field("threshold", {"array": "7"}), "cannot be read .KeyError: '7'"),
    "a dict that is none": (field("threshold", {"dict": 7}), "cannot be read .TypeError"),
    "a text for a number": (field("threshold", "high"), "cannot estimate"),
    "a share above 1": (
        lambda tree: {"Atc": tree["Atc"] | {"tied_weight": 9, "threshold": -0.5}},
        "between 0 and 1",
    ),
    "a field more": (field("run", "rm"), "cannot be read .TypeError"),
    "no fields": (lambda tree: {"Atc": {}}, "cannot be read .KeyError: 'name'"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_file_is_refused_in_a_line(case: str, kept: Callable[[str], Path], tmp_path: Path) -> None:
    edit, message = FORGED[case]
    forge(kept("atc-max"), tmp_path / "forged", edit)
    with pytest.raises(InputError, match=rf"forged: .*{message}") as refused:
        load_estimator(tmp_path / "forged")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["atc-none", "", None, ["atc-max"], "atc-ppl"])
def test_a_header_that_names_another_is_refused(name: Any, kept: Callable[[str], Path], tmp_path: Path) -> None:
    forge(kept("atc-max"), tmp_path / "forged", lambda parameters: parameters, name=name)
    with pytest.raises(
        InputError,
        match=r"forged: (contains the estimator 'atc-max'|is the estimator '|the header: name: must be text)",
    ):
        load_estimator(tmp_path / "forged")


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
        return 1 / (1 + np.exp(-total[:, None]))


def fit_boosted(name: str, rows: TrainingRows) -> Boosted:
    """One round of boosting per feature of three."""
    stumps = [Stump(feature, float(rows.features[feature].median()), -0.2, 0.2) for feature in ("max", "ppl", "mean")]
    return Boosted(name, tuple(stumps), 0.1)


@pytest.fixture
def family(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Add a family: a module with `fit`, and its entry in the catalogue."""

    def add(name: str, **content: Any) -> None:
        module = types.ModuleType(f"own_{name}")
        vars(module).update(content)
        added = estimator_registry.EstimatorFamily(name, "a family of one's own", lambda: module, {name: name.title()})
        monkeypatch.setitem(estimator_registry._FAMILY_OF, name, added)

    return add


def test_a_family_of_ones_own_declares_its_classes(family: Callable[..., None], tmp_path: Path) -> None:
    family("boosted", fit=fit_boosted, SAVED=(Boosted, Stump))
    fitted, (features, _) = TrainingRows(*rows(), SETTINGS).fit("boosted"), rows(50, seed=3)
    save_estimator(fitted, tmp_path / "boosted", FitMetadata(name="boosted", logprobs=LOGPROBS))
    loaded = load_estimator(tmp_path / "boosted").estimator
    assert loaded == fitted
    assert loaded.accuracy(features) == fitted.accuracy(features)


@pytest.mark.parametrize(
    ("declared", "message"), [({}, "own_boosted .*: SAVED"), ({"SAVED": (Boosted,)}, "'boosted' contains a Stump")]
)
def test_an_estimator_with_undeclared_classes_is_not_saved(
    declared: dict[str, Any], message: str, family: Callable[..., None], tmp_path: Path
) -> None:
    family("boosted", fit=fit_boosted, **declared)
    (tmp_path / "old").write_text("an older estimator")
    with pytest.raises(ContractError, match=rf"old: .*{message}"):
        save_estimator(
            TrainingRows(*rows(), SETTINGS).fit("boosted"),
            tmp_path / "old",
            FitMetadata(name="boosted", logprobs=LOGPROBS),
        )
    assert (tmp_path / "old").read_text() == "an older estimator"


@pytest.mark.parametrize(
    "part", [Lock(), LogisticRegression(), np.array([None]), object, len, {1, 2}, {1: 2}, {(1,): 2}]
)
def test_what_has_no_form_is_not_saved(part: Any, family: Callable[..., None], tmp_path: Path) -> None:
    family("boosted", fit=lambda name, rows: Boosted(name, (part,), 0.1), SAVED=(Boosted, Stump))
    with pytest.raises(ContractError, match=r"'boosted' (contains a |cannot be saved \(TypeError)"):
        save_estimator(
            TrainingRows(*rows(), SETTINGS).fit("boosted"),
            tmp_path / "none",
            FitMetadata(name="boosted", logprobs=LOGPROBS),
        )


@pytest.mark.parametrize("shape", [(3,), (10**12,), (0,)])
def test_the_shape_of_an_array_must_fit_its_bytes(shape: tuple[int, ...]) -> None:
    """NumPy would allocate memory for the whole shape before it reads."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)  # type: ignore[no-untyped-call]  # NumPy has no types for it
    with pytest.raises(NotPlain, match="wrong length"):
        _read_array(file.getvalue() + bytes(16))
