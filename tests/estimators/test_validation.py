"""The validation card: by leaving out one domain at a time, worked out with the verbs and by hand."""

import json

import numpy as np
import polars as pl
import pytest
from observations import SETTINGS, observations

from entropy_sentinel.estimators.training import TrainingRows
from entropy_sentinel.estimators.validation import Domain, Validation, validate

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


def rows(names: tuple[str, ...] = NAMES) -> tuple[TrainingRows, pl.DataFrame]:
    frame = pl.concat([observations(name, n=60) for name in names])
    return TrainingRows(frame, frame["label"].to_numpy(), SETTINGS, domains=frame["benchmark"]), frame


def test_each_domain_is_estimated_by_what_is_fitted_on_the_others() -> None:
    training, frame = rows()
    card = validate(training, "atc-se_sum")
    assert [one.domain for one in card.domains] == sorted(NAMES)
    errors = []
    for one in card.domains:
        here, others = frame.filter(pl.col("benchmark") == one.domain), frame.filter(pl.col("benchmark") != one.domain)
        # The threshold that as many responses are below as are correct, by hand.
        n_correct = int(others["label"].sum())
        threshold = np.sort(others["se_sum"].to_numpy())[n_correct - 1]
        expected = float((here["se_sum"].to_numpy() <= threshold).mean())
        assert (one.n, one.estimated, one.true) == (60, pytest.approx(expected), here["label"].mean())
        errors.append(expected - one.true)
    assert card.aee == pytest.approx(np.abs(errors).mean())
    assert card.bias == pytest.approx(np.mean(errors))
    worst = max(card.domains, key=lambda one: abs(one.estimated - one.true))
    assert card.worst == worst
    assert f"worst in {worst.domain}: {worst.estimated:.3f} estimated, {worst.true:.3f} true" in card.reasons[1]


def test_the_recommended_method_chooses_again_without_the_domain(monkeypatch: pytest.MonkeyPatch) -> None:
    from entropy_sentinel.estimators import recommended

    seen = []
    right = recommended.leave_one_out_errors

    def spy(rows: TrainingRows) -> dict[str, np.ndarray]:
        seen.append(set(rows.domains))
        return right(rows)

    monkeypatch.setattr(recommended, "leave_one_out_errors", spy)
    validate(rows()[0], "recommended")
    assert [set(NAMES) - domains for domains in seen] == [{name} for name in sorted(NAMES)]


def test_two_domains_validate_nothing() -> None:
    card = validate(rows(NAMES[:2])[0], "atc-max")
    assert (card.verdict, card.domains, card.aee) == ("not validated", (), None)
    assert card.reasons == ("leaving out one domain at a time needs 3 labelled domains, there are 2",)
    assert card.residuals.intervals([0.5], [100], 0.9).basis == "prior"


@pytest.mark.parametrize(
    ("errors", "verdict", "why"),
    [
        ((0.05, -0.05, 0.05, -0.05, 0.1), "usable", "off by 0.060 in the mean over 5 domains"),
        ((0.3, 0.01, 0.01, 0.01, 0.01), "ranking only", "is 0.300"),
        ((0.2, 0.2, 0.2, 0.2, 0.2), "ranking only", "too high by 0.200 in the mean"),
        ((0.55, 0.3, 0.0, -0.3, -0.55), "do not use", "rank correlation with the truth -"),
    ],
)
def test_the_verdict_follows_from_error_worst_domain_and_order(
    monkeypatch: pytest.MonkeyPatch, errors: tuple[float, ...], verdict: str, why: str
) -> None:
    from entropy_sentinel.estimators import validation

    # A domain's truth is .1, .25, .4, .55, .7; what would be estimated is off by the errors above.
    truths = dict(zip(sorted(NAMES), (0.1, 0.25, 0.4, 0.55, 0.7), strict=True))
    offs = dict(zip(sorted(NAMES), errors, strict=True))
    made = {name: Domain(name, 100, truths[name] + offs[name], truths[name]) for name in NAMES}
    monkeypatch.setattr(validation, "_left_out", lambda rows, name, domain: made[domain])
    card = validate(rows()[0], "atc-max")
    assert card.verdict == verdict
    assert any(why in reason for reason in card.reasons)


def test_three_domains_can_be_usable_but_never_a_ranking() -> None:
    card = validate(rows(NAMES[:3])[0], "atc-se_sum")
    assert card.verdict in ("usable", "do not use")
    assert "the order of 3 domains shows nothing: a ranking needs 5" in card.reasons


def test_intervals_of_a_domain_rest_on_the_others_alone() -> None:
    card = validate(rows()[0], "atc-se_sum")
    (eighty, ninety, _) = card.coverage
    # Four others guarantee 4/5.
    assert (eighty.level, eighty.basis, ninety.basis, eighty.n) == (0.8, "conformal", "prior", 5)
    held = 0
    for place, one in enumerate(card.domains):
        lower, upper, _ = card.residuals.without(place).intervals([one.estimated], [one.n], 0.8)
        held += lower[0] <= one.true <= upper[0]
    assert eighty.covered == held


def test_what_cannot_be_fitted_without_a_domain_is_said() -> None:
    """Only one domain has incorrect answers: without it there is one class."""
    frame = pl.concat([observations(name, n=60) for name in NAMES])
    frame = frame.with_columns(label=pl.col("label") | (pl.col("benchmark") != "gamma"))
    training = TrainingRows(frame, frame["label"].to_numpy(), SETTINGS, domains=frame["benchmark"])
    card = validate(training, "baseline-se_sum")
    unfitted = [one for one in card.domains if one.estimated is None]
    assert [(one.domain, one.reason) for one in unfitted] == [("gamma", "all training rows are correct")]
    assert card.reasons[-1] == "1 of 5 domains could not be estimated: gamma"


def test_the_card_goes_through_json() -> None:
    card = validate(rows()[0], "atc-se_sum")
    assert Validation.from_dict(json.loads(json.dumps(card.as_dict()))) == card
