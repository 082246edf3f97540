"""Estimators as files: the same numbers after loading, and refusals of what must not be loaded."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from production import change_metadata, fitted
from rows import SETTINGS, rows

from entropy_sentinel.core.errors import ContractError, InputError
from entropy_sentinel.estimators.estimator_file import load_estimator, read_header, save_estimator
from entropy_sentinel.estimators.fit_metadata import FitMetadata, LogprobsKind, measure_features
from entropy_sentinel.estimators.training_rows import TrainingRows

FEATURES, LABELS = rows()
TRAINING = TrainingRows(FEATURES, LABELS, SETTINGS)
FIT = """
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from production import saved
for name in sys.argv[2:]:
    saved(Path(sys.argv[1]), name)
"""
LOGPROBS = {"logprobs_mode": "raw_logprobs", "top_k_returned": 20}


def metadata(name: str, **fields: Any) -> FitMetadata:
    return FitMetadata(name=name, logprobs=LogprobsKind(**LOGPROBS), **fields)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "atc.estimator"
    save_estimator(TRAINING.fit("atc-max"), path, metadata("atc-max", model="tiny"))
    return path


@pytest.mark.parametrize(
    "name",
    [
        *("forest-10d-balanced-isotonic", "mlp-1d-unbalanced-uncalibrated", "logistic-17d-balanced-isotonic"),
        *("baseline-ppl", "group-accuracy", "atc-lntp", "log-3d", "atc-log-2d", "doc-forest-10d-balanced-isotonic"),
        *("consensus", "median-of-seven", "recommended"),
    ],
)
def test_a_loaded_estimator_gives_the_same_numbers_and_the_same_file(tmp_path: Path, name: str) -> None:
    fitted, (others, _) = TRAINING.fit(name), rows(70, seed=9)
    save_estimator(fitted, tmp_path / "one", metadata(name))
    loaded = load_estimator(tmp_path / "one").estimator
    assert type(loaded) is type(fitted)
    assert loaded.name == name
    values = loaded.values(others)
    assert values.tobytes() == fitted.values(others).tobytes()
    assert (values.ndim, len(values), values.dtype) == (2, 70, np.float64)
    assert loaded.accuracies_of(values).shape == (70,)
    assert loaded.accuracy(others) == fitted.accuracy(others)
    assert np.array_equal(*(np.array(estimator.p_correct(others), dtype=float) for estimator in (loaded, fitted)), True)
    assert loaded.chosen == fitted.chosen
    save_estimator(loaded, tmp_path / "again", metadata(name))
    assert (tmp_path / "again").read_bytes() == (tmp_path / "one").read_bytes()


@pytest.mark.long
def test_another_process_writes_the_same_bytes(tmp_path: Path) -> None:
    """A monitor's state is of an estimator's checksum. One of each kind of parts: trees, networks, a choice, ..."""
    names = ("recommended", "median-of-seven", "forest-10d-balanced-isotonic", "mlp-10d-balanced-isotonic")
    path = os.pathsep.join(sys.path)
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", FIT, tmp_path / seed, *names], env=environment, check=True)
    for name in names:
        one, other = ((tmp_path / seed / f"{name}.estimator").read_bytes() for seed in ("1", "2"))
        assert one == other, name


def test_the_file_says_what_it_is(kept: Path) -> None:
    about = load_estimator(kept).metadata
    assert (about.name, about.model, about.logprobs.to_dict()) == ("atc-max", "tiny", LOGPROBS)


def test_any_changed_byte_is_refused(kept: Path) -> None:
    content = kept.read_bytes()
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1
        kept.write_bytes(bytes(changed))
        with pytest.raises(InputError, match=r"atc.estimator: (must begin|was changed|must be a file)"):
            load_estimator(kept)
    kept.write_bytes(content[:-1])
    with pytest.raises(InputError, match="was changed or damaged"):
        load_estimator(kept)


def test_one_that_could_not_be_fitted_says_why(tmp_path: Path) -> None:
    one_class = TrainingRows(FEATURES, np.ones(len(LABELS), dtype=bool), SETTINGS)
    save_estimator(one_class.fit("baseline-max"), tmp_path / "one", metadata("baseline-max"))
    with pytest.raises(InputError, match="'baseline-max' could not be fitted: all training rows are correct"):
        load_estimator(tmp_path / "one")


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    for content in (b"", b"PK\x03\x04", b"a\nb\nc\nd", b"\x80\x04pickle"):
        (tmp_path / "other").write_bytes(content)
        with pytest.raises(InputError, match="other: must"):
            load_estimator(tmp_path / "other")
    with pytest.raises(InputError, match="none: must be a file written by `fit`"):
        load_estimator(tmp_path / "none")


def test_feature_statistics_are_those_of_numpy() -> None:
    result, values = measure_features(FEATURES)["se_sum"].model_dump(), FEATURES["se_sum"].to_numpy()
    expected = {"mean": values.mean(), "std": values.std(), "min": values.min(), "max": values.max()}
    quartiles = dict(zip(("q25", "median", "q75"), np.quantile(values, (0.25, 0.5, 0.75)), strict=True))
    assert result == pytest.approx(expected | quartiles)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"training_accuracy": 1.5}, "the header: training_accuracy: must be at most 1, got 1.5"),
        ({"group": "+".join(["a-domain"] * 500_000)}, "the header must have at most 4,194,304 bytes, has 4,5"),
    ],
)
def test_a_header_that_would_not_be_read_is_not_written(tmp_path: Path, fields: dict, message: str) -> None:
    with pytest.raises(ContractError, match=f"one: not written: {message}"):
        save_estimator(TRAINING.fit("atc-max"), tmp_path / "one", metadata("atc-max").model_copy(update=fields))
    assert not (tmp_path / "one").exists()


def test_a_header_of_more_domains_than_anyone_labels_is_refused() -> None:
    domains = [{"domain": "d", "n": 20, "estimated": 0.5, "true": 0.5}] * 5001
    header = {"name": "atc-max", "logprobs": LOGPROBS}
    header["validation"] = {"estimator": "atc-max", "n_domains": 5001, "domains": domains}
    with pytest.raises(InputError, match="validation.domains: must have at most 5000 items"):
        read_header(json.dumps(header).encode())


@pytest.mark.parametrize("scored", [[[1.0, 0.5, 1.0, 0.25]], [[1.0, 2.0, 1.0, 0.0]] * 10, [[1.0, 0.5, 1.0]] * 10])
def test_implausible_sums_of_probabilities_are_refused(tmp_path: Path, scored: list[list[float]]) -> None:
    estimator = fitted("log-3d")
    first, *others = estimator.validation.domains
    validation = replace(estimator.validation, domains=(replace(first, scored=scored), *others))
    changed = change_metadata(estimator, validation=validation)
    with pytest.raises(ContractError, match="scored"):
        save_estimator(changed.estimator, tmp_path / "e.estimator", changed.metadata)
