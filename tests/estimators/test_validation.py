"""The validation: by leaving out one domain at a time, worked out with the verbs and by hand."""

import json
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
import polars as pl
import pytest
from observations import SETTINGS, observations

from entropy_sentinel.estimators import combination
from entropy_sentinel.estimators.leave_one_out import validate_estimator
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.estimators.validation_record import Domain, Validation
from entropy_sentinel.estimators.verdict_limits import Limits

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


def frame_of(*sizes: int) -> pl.DataFrame:
    """Rows of domains of these sizes."""
    return pl.concat([observations(name, n=n) for name, n in zip(NAMES, sizes, strict=False)])


def training_on(frame: pl.DataFrame, **more: Any) -> TrainingRows:
    return TrainingRows(frame, frame["label"].to_numpy(), SETTINGS, domains=frame["benchmark"], **more)


FRAME = frame_of(*[60] * len(NAMES))
TRAINING = training_on(FRAME)


def test_each_domain_is_estimated_by_what_is_fitted_on_the_others() -> None:
    validation = validate_estimator(TRAINING, "atc-se_sum")
    assert [domain.domain for domain in validation.domains] == sorted(NAMES)
    errors = []
    for one in validation.domains:
        here, others = FRAME.filter(pl.col("benchmark") == one.domain), FRAME.filter(pl.col("benchmark") != one.domain)
        # The threshold that as many responses are below as are correct, by hand.
        n_correct = int(others["label"].sum())
        threshold = np.sort(others["se_sum"].to_numpy())[n_correct - 1]
        expected = float((here["se_sum"].to_numpy() <= threshold).mean())
        assert (one.n, one.estimated, one.true) == (60, pytest.approx(expected), here["label"].mean())
        errors.append(expected - one.true)
    assert validation.aee == pytest.approx(np.abs(errors).mean())
    assert validation.bias == pytest.approx(np.mean(errors))
    worst = max(validation.domains, key=lambda one: abs(one.estimated - one.true))
    assert validation.worst == worst
    assert f"{worst.domain} ({worst.estimated:.3f} estimated, {worst.true:.3f} true)" in validation.reasons[3]


def test_a_group_is_estimated_by_what_is_fitted_on_the_other_groups() -> None:
    names = {"alpha": "first", "beta": "first", "gamma": "second", "delta": "third", "epsilon": "epsilon"}
    groups = FRAME["benchmark"].replace(names)
    validation, ungrouped = (
        validate_estimator(rows, "atc-se_sum") for rows in (training_on(FRAME, groups=groups), TRAINING)
    )
    assert validation.domains == tuple(replace(domain, group=names[domain.domain]) for domain in ungrouped.domains)
    by_group = validation.new_groups
    for domain in by_group.domains:
        others = FRAME.filter(groups != domain.group)
        threshold = np.sort(others["se_sum"].to_numpy())[int(others["label"].sum()) - 1]
        here = FRAME.filter(pl.col("benchmark") == domain.domain)["se_sum"].to_numpy()
        assert domain.estimated == pytest.approx(float((here <= threshold).mean()))
    assert (by_group.n_groups, by_group.n_counted, by_group.residuals.n_units) == (4, 5, 4)
    assert sorted(len(by_group.residuals.leave_out(place)) for place in range(5)) == [3, 3, 4, 4, 4]
    assert Validation.from_dict(json.loads(json.dumps(validation.to_dict()))) == validation


def test_the_recommended_method_chooses_again_without_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:

    seen = []
    right = combination.leave_one_out_errors

    def spy(rows: TrainingRows) -> dict[str, np.ndarray]:
        seen.append(set(rows.domains))
        return right(rows)

    monkeypatch.setattr(combination, "leave_one_out_errors", spy)
    monkeypatch.setattr(combination, "FEWEST_TO_CHOOSE", 3)
    validate_estimator(TRAINING, "recommended")
    assert [set(NAMES) - domains for domains in seen] == [{name} for name in sorted(NAMES)]


def test_two_domains_are_too_few() -> None:
    validation = validate_estimator(training_on(frame_of(60, 60)), "atc-max")
    assert (validation.verdict, validation.domains) == ("too few domains to say", ())
    assert (validation.aee, validation.error_at_most) == (None, None)
    (reason,) = validation.reasons
    assert all(fact in reason for fact in ("3 domains", "20 labels", "label 1 more domain"))
    assert validation.residuals.intervals([0.5], [100], 0.9).basis == "prior"


def test_a_domain_of_few_labels_does_not_count() -> None:
    frame = frame_of(60, 60, 60, 20, 19)
    validation = validate_estimator(training_on(frame), "atc-se_sum")
    assert (validation.n_domains, validation.n_counted, len(validation.residuals)) == (5, 4, 4)
    [few] = [domain for domain in validation.domains if domain.estimated is None]
    assert (few.domain, few.n, few.reason) == ("epsilon", 19, "19 labels, fewer than 20: not counted")
    # Nor does it in a group with a domain that counts.
    groups = frame["benchmark"].replace({"epsilon": "delta"})
    by_group = validate_estimator(training_on(frame, groups=groups), "atc-se_sum").new_groups
    assert by_group is not None
    assert [domain.domain for domain in by_group.domains if domain.estimated is None] == ["epsilon"]
    assert "20 labels: 1 of 5 domains (epsilon)" in validation.reasons[-1]
    assert "over 4 held-out domains" in validation.reasons[0]


def test_a_card_of_an_earlier_release_is_judged_as_of_now() -> None:
    """Three domains were off by .01, one of them on one label: "usable" it said, with intervals to match."""
    old = {
        "estimator": "consensus",
        "n_domains": 3,
        "domains": [
            {"domain": name, "n": n, "estimated": 0.51, "true": 0.5, "reason": None}
            for name, n in (("a", 100), ("b", 100), ("c", 1))
        ],
        "aee": 0.01,
        "rho": None,
        "bias": 0.01,
        "coverage": [{"level": 0.8, "covered": 3, "n": 3, "lower": 0.4, "upper": 1.0, "basis": "prior"}],
        "verdict": "usable",
        "reasons": ["off by 0.010 in the mean over 3 domains that it had not seen (usable up to 0.10)"],
    }
    validation = Validation.from_dict(old)
    assert (validation.verdict, validation.n_counted) == ("too few domains to say", 2)
    assert validation.coverage == ()
    assert validation == Validation.from_dict(json.loads(json.dumps(validation.to_dict())))


def test_intervals_of_a_domain_rest_only_on_the_others() -> None:
    validation = validate_estimator(TRAINING, "atc-se_sum")
    (eighty, ninety, _) = validation.coverage
    assert (eighty.level, eighty.basis, ninety.basis, eighty.n) == (0.8, "predictive", "predictive", 5)
    held = 0
    for place, one in enumerate(validation.domains):
        lower, upper, _ = validation.residuals.leave_out(place).intervals([one.estimated], [one.n], 0.8)
        held += lower[0] <= one.true <= upper[0]
    assert eighty.covered == held


def test_a_domain_without_which_nothing_can_be_fitted_is_reported() -> None:
    """Only one domain has incorrect answers: without it there is one class."""
    frame = FRAME.with_columns(label=pl.col("label") | (pl.col("benchmark") != "gamma"))
    validation = validate_estimator(training_on(frame), "baseline-se_sum")
    unfitted = [domain for domain in validation.domains if domain.estimated is None]
    assert [(one.domain, one.reason) for one in unfitted] == [("gamma", "all training rows are correct")]
    assert validation.reasons[-1] == "not estimated: 1 of 5 domains (gamma)"


@pytest.mark.parametrize("n_groups", [None, 200])
def test_four_hundred_domains_are_validated_in_seconds(n_groups: int | None) -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(0.2, 0.9, 400)
    estimated = np.clip(true + rng.normal(0, 0.08, 400), 0, 1)
    domains = tuple(
        Domain(f"d{place}", 40, float(estimated[place]), float(true[place]), group=f"g{place % (n_groups or 400)}")
        for place in range(400)
    )
    began = process_time()
    validation = Validation("atc-max", 400, domains, n_groups)
    assert process_time() - began < 10  # with a posterior per domain: 45 s, and more with groups
    assert [share.n for share in validation.coverage] == [400] * 3


def test_the_limits_of_the_verdict_survive_the_file() -> None:
    limits = Limits(usable_error=0.2, far_off=0.4, confidence=0.8)
    groups = training_on(FRAME, groups=FRAME["benchmark"])
    for rows in (TRAINING, groups):
        validation = validate_estimator(rows, "atc-se_sum", limits)
        kept = json.loads(json.dumps(validation.to_dict()))
        assert Validation.from_dict(kept) == validation
        assert kept["limits"] == {"usable_error": 0.2, "far_off": 0.4, "confidence": 0.8}
        del kept["limits"]
        assert Validation.from_dict(kept).limits == Limits()
