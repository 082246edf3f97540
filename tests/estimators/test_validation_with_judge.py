"""`fit` with the verdicts of a judge: what counts, the true accuracies by hand, what is printed and kept."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from calling import run
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.estimator_file import load_estimator

KEY = ["benchmark", "item_id"]


@pytest.fixture(scope="module")
def features() -> pl.DataFrame:
    """Forty responses of each of four domains, with the truth as `right`."""
    truth = es.read_labels(TINY.labels)
    key = [name for name in KEY if name in truth.columns]
    rows = es.read_features(TINY.traces).join(truth.select(*key, right="label"), on=key)
    return rows.with_columns(place=pl.int_range(pl.len()).over("benchmark"))


def people(features: pl.DataFrame, n: int) -> pl.DataFrame:
    """Labels of n responses of each domain, from place 10 on."""
    return features.filter(pl.col("place").is_between(10, 9 + n)).select(*KEY, label="right")


def verdicts(features: pl.DataFrame, wrong: int = 0) -> pl.DataFrame:
    """The verdicts of a judge that is wrong about the last responses of each domain."""
    says = pl.col("right") ^ (pl.col("place") >= 40 - wrong)
    return features.select(*KEY, label=says, judge=pl.lit("judge"))


def right_counts(features: pl.DataFrame, n: int) -> dict[str, int]:
    """How many of the labels of each domain are right."""
    labels = people(features, n)
    return {name: int(part["label"].sum()) for (name,), part in labels.group_by("benchmark")}


def powers_by_hand(features: pl.DataFrame) -> tuple[float, dict[tuple[str, bool], float]]:
    """The power of a judge that agrees with all labels, six a domain: of all, and without a label of a domain.

    The sum of squares within domains is c (6 - c) / 6 with c right labels; without a label, it falls by the square of
    its deviation, times 6 / 5. Pseudo-labels add 1 to the sum of squares and .5 to that of products.
    """
    counts = right_counts(features, 6)
    squares = sum(c * (6 - c) / 6 for c in counts.values())
    without = {}
    for name, c in counts.items():
        for label in (True, False):
            left = squares - (label - c / 6) ** 2 * 6 / 5
            without[name, label] = (left + 0.5) / (left + 1)
    return (squares + 0.5) / (squares + 1), without


def true_by_hand(features: pl.DataFrame, name: str, share: float) -> float:
    """The accuracy of a domain from its labels, where a perfect judge calls this share of its sample correct."""
    _, without = powers_by_hand(features)
    labels = people(features, 6).filter(benchmark=name)["label"]
    return float(np.mean([label + without[name, label] * (share - label) for label in labels]))


def test_true_accuracies_of_a_perfect_judge_by_hand(features: pl.DataFrame) -> None:
    """They are its labels, corrected by the forty verdicts of the domain.

    The estimate is the accuracy of the labels of the other domains: the same for each response, so that the error has
    the variance of the verdicts, and that of what the powers leave of a label.
    """
    fitted = es.fit(features, people(features, 6), "group-accuracy", judged=verdicts(features))
    validation = fitted.validation
    assert validation is not None
    assert fitted.metadata.n_training_rows == 24
    power, _ = powers_by_hand(features)
    squares = sum(c * (6 - c) / 6 for c in right_counts(features, 6).values())
    # Four means and two slopes are fitted on 24 labels.
    left = (1 - power) ** 2 * squares / 18
    noises = []
    for domain in validation.domains:
        share = features.filter(benchmark=domain.domain)["right"].mean()
        others = people(features, 6).filter(pl.col("benchmark") != domain.domain)["label"].mean()
        assert (domain.n, domain.n_judged) == (6, 40)
        assert domain.true == pytest.approx(true_by_hand(features, domain.domain, share))
        assert domain.estimated == pytest.approx(others)
        noises.append(left / 6 + power**2 * share * (1 - share) / 39)
        assert domain.noise == pytest.approx(noises[-1])
    (judge,) = validation.witnesses
    assert (judge.name, judge.n_labelled, judge.n_judged, judge.n_domains) == ("judge judge", 24, 160, 4)
    assert judge.power == pytest.approx(power)
    assert judge.sensitivity is not None
    assert judge.specificity is not None
    assert (judge.sensitivity.share, judge.specificity.share) == (1, 1)
    # Labels alone have the variance of 24 labels around four means; with verdicts on 160, they are not worth more.
    assert squares / 20 / 6 * 4 / sum(noises) > 160 / 24
    assert judge.worth == pytest.approx(160 / 24)


def test_samples_of_overlapping_logs_count_each_response_once(features: pl.DataFrame) -> None:
    """The first half of each domain, and each second response of all: only the second sample covers the domain.

    The verdicts of the first correct the judge. The same sample in two files is one sample.
    """
    every = verdicts(features).with_columns(features["place"])
    first_half = every.filter(pl.col("place") < 20).with_columns(weight=pl.lit(1.0))
    thinned = every.filter(pl.col("place") % 2 == 0).with_columns(weight=pl.lit(2.0))
    for judged in ([first_half, thinned], [thinned, first_half]):
        validation = es.fit(features, people(features, 6), "group-accuracy", judged=judged).validation
        assert validation is not None
        for domain in validation.domains:
            shares = features.filter(pl.col("benchmark") == domain.domain, pl.col("place") % 2 == 0)["right"]
            assert domain.true == pytest.approx(true_by_hand(features, domain.domain, float(shares.mean())))
    one, two = (
        es.fit(features, people(features, 6), "group-accuracy", judged=judged).validation
        for judged in (thinned, [thinned, thinned])
    )
    assert one == two


def test_several_witnesses_count_in_the_domains_that_they_have_seen(features: pl.DataFrame, tmp_path: Path) -> None:
    """A judge of all, one with probabilities of two domains only, and a second opinion that has seen too little."""
    first, second, *_ = features["benchmark"].unique().sort().to_list()
    judge = verdicts(features, wrong=24)
    p = pl.when("right").then(pl.lit(0.9)).otherwise(pl.lit(0.2))
    sure = features.filter(pl.col("benchmark").is_in([first, second]))
    sure = sure.select(*KEY, probability=p, label="right", judge=pl.lit("sure"))
    few = features.filter(pl.col("place") < 15).select(
        *KEY, label="right", judge=pl.lit("few"), witness=pl.lit("second-opinion")
    )
    fitted = es.fit(features, people(features, 8), "group-accuracy", judged=[judge, sure, few])
    validation = fitted.validation
    assert validation is not None
    assert [domain.n_judged for domain in validation.domains] == [40] * 4
    counts = {witness.name: (witness.n_domains, witness.power) for witness in validation.witnesses}
    assert counts["second opinion of few"] == (0, None)
    assert [counts[f"judge {name}"][0] for name in ("judge", "sure")] == [4, 2]
    assert counts["judge sure"][1] > 0.5
    assert validation.witnesses[1].auroc is not None
    assert validation.witnesses[1].auroc.value == 1
    # What the second judge adds: the noise of its two domains falls.
    alone = es.fit(features, people(features, 8), "group-accuracy", judged=judge).validation
    assert alone is not None
    less = [one.noise < other.noise for one, other in zip(validation.domains, alone.domains, strict=True)]
    assert less[:2] == [True, True]
    es.save(fitted, tmp_path / "mine.estimator")
    saved = load_estimator(tmp_path / "mine.estimator").validation
    assert saved is not None
    assert saved.witnesses == validation.witnesses


def test_without_enough_verdicts_or_labels_a_domain_does_not_count(features: pl.DataFrame) -> None:
    few = es.fit(features, people(features, 4), "group-accuracy", judged=verdicts(features)).validation
    assert few is not None
    assert few.n_counted == 0
    assert "No domain rests on it" in few.witnesses[0].line()
    # 19 verdicts of the first domain are too few; its six labels alone, too.
    names = features["benchmark"].unique().sort().to_list()
    some = verdicts(features.filter((pl.col("benchmark") != names[0]) | (pl.col("place") < 19)))
    part = es.fit(features, people(features, 6), "group-accuracy", judged=some).validation
    assert part is not None
    assert [domain.estimated is None for domain in part.domains] == [True, False, False, False]
    # With twenty labels, it counts by these.
    many = es.fit(features, people(features, 20), "group-accuracy", judged=some).validation
    assert many is not None
    assert [domain.noise is None for domain in many.domains] == [True, False, False, False]
    assert many.domains[0].true == people(features, 20).filter(benchmark=names[0])["label"].mean()


def test_verdicts_without_a_common_label_are_refused(features: pl.DataFrame) -> None:
    judged = verdicts(features.filter(pl.col("place") < 10))
    with pytest.raises(InputError, match="judged: no response has both a label and a verdict"):
        es.fit(features, people(features, 6), "group-accuracy", judged=judged)


def test_verdicts_with_weights_represent_their_domain(features: pl.DataFrame) -> None:
    """Correct responses count three times; verdicts without a weight only correct the judge, so they change nothing."""
    weights = pl.when("right").then(3.0).otherwise(1.0)
    judged = verdicts(features).join(features.select(*KEY, weight=weights), on=KEY)
    found = es.fit(features, people(features, 6), "group-accuracy", judged=judged).validation
    assert found is not None
    for domain in found.domains:
        right = features.filter(benchmark=domain.domain)["right"]
        share = float(np.average(right, weights=np.where(right, 3, 1)))
        assert domain.true == pytest.approx(true_by_hand(features, domain.domain, share))


def test_the_command_says_what_the_verdict_rests_on_and_keeps_it(
    tmp_path: Path, capsys: pytest.CaptureFixture, features: pl.DataFrame
) -> None:
    people(features, 8).write_csv(tmp_path / "people.csv")
    verdicts(features, wrong=24).write_csv(tmp_path / "verdicts.csv")
    kept = tmp_path / "mine.estimator"
    options = ["-l", tmp_path / "people.csv", "-e", "atc-max", "-o", kept]
    status, message, _ = run(capsys, "fit", TINY.traces, *options, "--judged", tmp_path / "verdicts.csv")
    assert status == 0
    # Of each domain's labels, at the places 10 to 17, the judge is wrong about the last two.
    both = features.filter(pl.col("place").is_between(10, 17))
    correct = int(both["right"].sum())
    caught = int(both.filter("right", pl.col("place") < 16).height)
    assert f"says correct for {caught / correct:.2f}" in message
    assert f"of {correct} correct responses" in message
    assert "160 verdicts in all" in message
    assert "true accuracies of all of them rest on a judge" in message
    saved = load_estimator(kept)
    assert saved.validation is not None
    assert saved.validation.witnesses
    assert [domain.noise is None for domain in saved.validation.domains] == [False] * 4
    assert kept.read_bytes().startswith(b"entropy-sentinel estimator 6\n")
    status, message, _ = run(capsys, "estimate", kept, TINY.traces, "--by", "benchmark")
    assert status == 0
    assert run(capsys, "fit", TINY.traces, *options)[0] == 0
    assert kept.read_bytes().startswith(b"entropy-sentinel estimator 5\n")
