"""Regression on logarithms, combinations and the recommendation, against scikit-learn, NumPy and by hand."""

import numpy as np
import polars as pl
import pytest
from rows import SETTINGS, rows
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from entropy_sentinel.estimators.combination import choose_candidate, leave_one_out_errors
from entropy_sentinel.estimators.estimator_base import FitFailure
from entropy_sentinel.estimators.estimator_registry import CANDIDATES, COMBINATIONS, ESTIMATORS, list_members
from entropy_sentinel.estimators.fit_metadata import describe_fit
from entropy_sentinel.estimators.training_rows import TrainingRows
from entropy_sentinel.features.feature_registry import FEATURES

X, Y = rows(240)
OTHERS, _ = rows(60, seed=5)
DOMAINS = np.repeat(["a", "b", "c"], 80)
# Each of them as two, alternately.
SIX = np.char.add(DOMAINS, np.resize(["1", "2"], len(DOMAINS)))
TRAINING = TrainingRows(X, Y, SETTINGS, domains=DOMAINS)


def logs(frame: pl.DataFrame, *features: str) -> np.ndarray:
    return np.log(frame.select(features).to_numpy())


@pytest.mark.parametrize(
    ("name", "features"),
    [("log-3d", ("max", "se_sum", "nll_sum")), ("log-2d", ("max", "nll_max")), ("log-nll_sum", ("nll_sum",))],
)
def test_log_is_a_logistic_regression_on_scaled_logarithms(name: str, features: tuple[str, ...]) -> None:
    expected = make_pipeline(StandardScaler(), LogisticRegression()).fit(logs(X, *features), Y)
    result = TRAINING.fit(name).p_correct(OTHERS)
    assert np.abs(result - expected.predict_proba(logs(OTHERS, *features))[:, 1]).max() < 1e-12


def test_log_takes_zeros() -> None:
    zeros = X.with_columns(max=pl.lit(0.0))
    fitted = TrainingRows(zeros, Y, SETTINGS).fit("log-3d")
    assert np.isfinite(fitted.p_correct(zeros)).all()
    smaller = zeros.with_columns(max=pl.lit(1e-7))
    assert (fitted.p_correct(smaller) == fitted.p_correct(zeros)).all(), "both below 1e-6: rounding noise"


def test_atc_on_a_regression_has_the_training_accuracy_on_the_training_rows() -> None:
    fitted, p = TRAINING.fit("atc-log-2d"), TRAINING.fit("log-2d").p_correct(X)
    assert fitted.accuracy(X) == pytest.approx(Y.mean())
    assert fitted.threshold == np.sort(p)[::-1][Y.sum() - 1]
    assert fitted.accuracy(OTHERS) == (TRAINING.fit("log-2d").p_correct(OTHERS) >= fitted.threshold).mean()


@pytest.mark.parametrize(("name", "summary"), [("consensus", np.mean), ("median-of-seven", np.median)])
def test_combinations_sum_up_what_their_members_say_of_a_slice(name: str, summary) -> None:
    members = COMBINATIONS[name].members
    assert len(members) == {"consensus": 3, "median-of-seven": 7}[name]
    fitted = TRAINING.fit(name)
    for part in (OTHERS, OTHERS.head(7), OTHERS.tail(1)):
        expected = summary([TRAINING.fit(member).accuracy(part) for member in members])
        assert fitted.accuracy(part) == pytest.approx(expected, abs=1e-12)


def test_p_correct_of_a_combination_is_the_mean_of_its_rankers() -> None:
    rankers = [TRAINING.fit(name).p_correct(OTHERS) for name in ("log-max", "log-nll_max", "log-nll_sum")]
    assert np.allclose(TRAINING.fit("consensus").p_correct(OTHERS), np.mean(rankers, axis=0), atol=1e-12)
    # On the training rows a regression's mean P is their accuracy.
    assert TRAINING.fit("consensus").p_correct(X).mean() == pytest.approx(Y.mean(), abs=1e-3)


def test_rows_of_one_class_have_a_consensus_that_ranks_nothing() -> None:
    one_class = TrainingRows(X, np.ones(240, dtype=bool), SETTINGS, domains=DOMAINS)
    assert one_class.fit("consensus").accuracy(X) == 1.0
    assert one_class.fit("consensus").p_correct(X) is None
    assert one_class.fit("median-of-seven") == FitFailure("median-of-seven", "all training rows are correct")
    assert one_class.fit("recommended").chosen["method"] == "consensus"


@pytest.mark.parametrize(("n_domains", "method"), [(3, "median-of-seven"), (2, "consensus")])
def test_three_to_five_domains_get_the_median_and_fewer_the_consensus(n_domains: int, method: str) -> None:
    training = TRAINING.part(np.isin(DOMAINS, list("abc")[:n_domains]))
    fitted = training.fit("recommended")
    reason = f"a choice needs 6 labelled domains; there are {n_domains}"
    assert fitted.chosen == {"method": method, "domains": n_domains, "reason": reason}
    assert fitted.accuracy(OTHERS) == training.fit(method).accuracy(OTHERS)
    assert (fitted.p_correct(OTHERS) == training.fit(method).p_correct(OTHERS)).all()


def test_rows_without_domains_are_of_one() -> None:
    assert TrainingRows(X, Y, SETTINGS).fit("recommended").chosen["domains"] == 1


def test_leave_one_out_errors_are_those_of_estimators_fitted_on_the_other_domains() -> None:
    errors = leave_one_out_errors(TRAINING)
    assert tuple(errors) == CANDIDATES
    for place, domain in enumerate("abc"):
        inside = domain == DOMAINS
        others = TrainingRows(X.filter(~inside), Y[~inside], SETTINGS)
        for name in CANDIDATES:
            expected = abs(others.fit(name).accuracy(X.filter(inside)) - Y[inside].mean())
            assert errors[name][place] == pytest.approx(expected, abs=1e-12)


def test_six_domains_choose_by_their_leave_one_out_errors() -> None:
    six = TrainingRows(X, Y, SETTINGS, domains=SIX)
    errors, fitted = leave_one_out_errors(six), six.fit("recommended")
    assert [len(result) for result in errors.values()] == [6] * len(errors)
    assert fitted.chosen["method"] == choose_candidate(errors)[0]
    assert fitted.chosen["leave_one_out_aee"] == {name: round(result.mean(), 4) for name, result in errors.items()}
    assert fitted.accuracy(OTHERS) == six.fit(fitted.chosen["method"]).accuracy(OTHERS)


def test_where_a_threshold_is_taken_the_median_ranks_the_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "entropy_sentinel.estimators.combination.choose_candidate", lambda errors: ("atc-max", "told to")
    )
    training = TrainingRows(X, Y, SETTINGS, domains=SIX)
    fitted = training.fit("recommended")
    assert fitted.accuracy(OTHERS) == training.fit("atc-max").accuracy(OTHERS)
    assert training.fit("atc-max").p_correct(OTHERS) is None
    assert (fitted.p_correct(OTHERS) == training.fit("median-of-seven").p_correct(OTHERS)).all()


def test_a_candidate_that_some_domains_cannot_fit_is_left_out() -> None:
    # Without domain c all rows are correct, and a regression has nothing to tell apart.
    labels = np.where(DOMAINS == "c", Y, True)
    training = TrainingRows(X, labels, SETTINGS, domains=DOMAINS)
    assert tuple(leave_one_out_errors(training)) == ("consensus", "atc-max")


def errors(**result: list[float]) -> dict[str, np.ndarray]:
    return {name.replace("_", "-"): np.array(values) for name, values in result.items()}


def test_another_than_the_consensus_is_taken_only_where_it_is_clearly_better() -> None:
    # Gains .01, .02, .03: mean .02, standard error .01 / sqrt(3) = .0058.
    clear = errors(consensus=[0.05, 0.06, 0.07], atc_max=[0.04, 0.04, 0.04])
    assert choose_candidate(clear) == (
        "atc-max",
        "clearly better than consensus on held-out domains",
    )
    # Gains .10, -.04, -.03: mean .01, standard error .078 / sqrt(3) = .045.
    unclear = errors(consensus=[0.15, 0.06, 0.07], atc_max=[0.05, 0.10, 0.10])
    assert choose_candidate(unclear) == ("consensus", "no other method was clearly better")
    # Of two that are clearly better the one of least error is taken.
    assert choose_candidate(clear | errors(log_3d=[0.03, 0.04, 0.04]))[0] == "log-3d"
    # One of smaller error than the clear one, which is no clear gain itself, is passed over.
    assert choose_candidate(clear | errors(log_3d=[0.0, 0.0, 0.11]))[0] == "atc-max"
    same = [0.1, 0.1, 0.1]
    assert choose_candidate(errors(consensus=same, atc_max=same))[0] == "consensus", "no gain is no reason"


@pytest.mark.parametrize(("n_correct", "cautious"), [(0, True), (11, True), (12, False), (228, False), (229, True)])
def test_a_caution_where_fewer_than_a_twentieth_of_the_rows_are_of_a_class(n_correct: int, cautious: bool) -> None:
    message = TrainingRows(X, np.arange(240) < n_correct, SETTINGS).caution
    assert (message is not None) == cautious
    if n_correct in (11, 229):
        fewer = "correct" if n_correct == 11 else "incorrect"
        assert message.startswith(f"only 11 of 240 training rows are {fewer}")


def test_metadata_says_what_was_chosen() -> None:
    metadata = describe_fit(TRAINING.fit("recommended"), TRAINING)
    assert metadata.chosen == TRAINING.fit("recommended").chosen
    assert metadata.training_accuracy == Y.mean()
    assert metadata.caution is None
    assert set(metadata.feature_statistics) == set(FEATURES)


def test_what_estimators_are_made_of() -> None:
    assert list_members("recommended") >= {*CANDIDATES, "atc-log-2d", "log-2d", "baseline-mtp", "log-nll_max"}
    for name in ESTIMATORS:
        assert list_members(name) <= set(ESTIMATORS)
