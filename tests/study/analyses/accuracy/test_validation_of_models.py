"""Whether the recommended estimator can be trusted on a model: the stage against its parts, worked out by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from observations import SETTINGS, observations

from entropy_sentinel.core.errors import DamagedFileError, ProvenanceError
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import (
    ModelValidation,
    read_validations,
    validate_model,
    write_validation,
)

pytestmark = pytest.mark.slow

NAMES = ["recommended", "group-accuracy", "atc-max"]
OF_NAMES = SETTINGS | {"estimators": NAMES}
UNLABELLED = {"label": [None] * 60, "label_reason": ["no reference"] * 60}


def study(*unlabelled: pl.DataFrame, names: str = "abcd") -> pl.DataFrame:
    return pl.concat([*(observations(name) for name in names), *unlabelled])


@pytest.fixture(scope="module")
def found() -> ModelValidation:
    return validate_model(study(observations("z", **UNLABELLED)), OF_NAMES)


def test_a_left_out_domain_is_estimated_from_all_labels_of_the_others(found: ModelValidation) -> None:
    """The floor estimates every domain by the others' accuracy, which a sum gives."""
    rows = study()
    true = dict(rows.group_by("benchmark").agg(pl.col("label").mean()).iter_rows())
    others = {name: rows.filter(pl.col("benchmark") != name)["label"].mean() for name in true}
    floor = found.find_errors("group-accuracy")
    assert floor.aee == pytest.approx(np.mean([abs(others[name] - true[name]) for name in true]))
    assert floor.bias == pytest.approx(np.mean([others[name] - true[name] for name in true]))
    assert floor.n_domains == 4
    assert {one.domain: one.true for one in found.left_out} == pytest.approx(true)
    assert [one.n for one in found.left_out] == [60] * 4
    assert [one.true for one in found.left_out] == sorted(true.values(), reverse=True)


def test_the_card_is_that_of_the_recommended_estimator(found: ModelValidation) -> None:
    errors = [one.estimated - one.true for one in found.left_out]
    assert found.recommended.aee == pytest.approx(np.mean(np.abs(errors)))
    assert found.recommended.bias == pytest.approx(np.mean(errors))
    assert abs(found.worst.error) == max(map(abs, errors))
    assert found.headline_rho is None, "four domains are too few"
    assert found.recommended.rho is not None
    assert found.best.estimator == min(("group-accuracy", "atc-max"), key=lambda name: found.find_errors(name).aee)
    assert f"{found.recommended.aee:.3f}" in found.reasons[0]
    assert found.n_training == 4 * 60


def test_a_domain_without_labels_is_estimated_by_all_that_have_some(found: ModelValidation) -> None:
    from entropy_sentinel.estimators.training_rows import TrainingRows

    rows = study()
    training = TrainingRows(rows.select(FEATURES), rows["label"].to_numpy(), OF_NAMES, rows["benchmark"])
    (one,) = found.unlabelled
    assert (one.domain, one.n, one.true, one.error) == ("z", 60, None, None)
    assert one.estimated == pytest.approx(training.fit("recommended").accuracy(observations("z").select(FEATURES)))
    assert found.method == training.fit("recommended").chosen["method"]
    assert 0 <= one.lower < one.estimated < one.upper <= 1
    assert one.basis == "predictive"
    assert (one.conformal_lower, one.conformal_upper) == (None, None), "four domains reach 80 %"


def test_kinds_of_a_benchmark_are_domains_of_their_own() -> None:
    kinds = observations("a").with_columns(kind=pl.Series(["odd", "even"] * 30))
    unlabelled = observations("b", **UNLABELLED).with_columns(kind=pl.lit("odd"))
    found = validate_model(pl.concat([study(names="cd"), kinds, unlabelled]), OF_NAMES)
    assert {domain.domain: domain.n for domain in found.left_out} == {"a/even": 30, "a/odd": 30, "c": 60, "d": 60}
    assert [domain.domain for domain in found.unlabelled] == ["b/odd"]


def test_nine_domains_have_a_conformal_interval_of_90_percent_beside_the_other() -> None:
    settings = SETTINGS | {"estimators": ["recommended"]}
    larger = observations("z", n=80, label=[None] * 80, label_reason=["no reference"] * 80)
    few, enough = (validate_model(study(larger, names=names), settings) for names in ("abcdefgh", "abcdefghi"))
    (without,), (beside,) = few.unlabelled, enough.unlabelled
    assert (without.conformal_lower, without.conformal_upper) == (None, None)
    # The largest of the nine errors, for the new domain is no smaller than they are.
    farthest = max(abs(one.error) for one in enough.left_out)
    assert beside.conformal_upper == pytest.approx(min(beside.estimated + farthest, 1))
    assert beside.conformal_lower == pytest.approx(max(beside.estimated - farthest, 0))
    assert {one.conformal_lower for one in enough.left_out} == {None}, "each goes by the eight others"
    assert {one.basis for one in (*enough.left_out, beside)} == {"predictive"}


def test_with_two_labelled_domains_nothing_is_validated_but_what_has_no_labels_is_estimated() -> None:
    found = validate_model(study(observations("z", **UNLABELLED), names="ab"), OF_NAMES)
    assert (found.verdict, found.left_out, found.recommended.aee) == ("too few domains to say", (), None)
    assert (found.best, found.worst, found.headline_rho) == (None, None, None)
    assert found.unlabelled[0].estimated is not None


def test_without_any_label_there_is_a_reason_in_the_place_of_estimates() -> None:
    found = validate_model(observations("z", **UNLABELLED), OF_NAMES)
    assert (found.verdict, found.method, found.training_accuracy) == ("too few domains to say", None, None)
    assert (
        found.unlabelled[0].reason == found.method_reason == "the training group has no row with a label and features"
    )


def test_a_domain_without_features_has_no_estimate() -> None:
    bare = observations("z", **UNLABELLED, **dict.fromkeys(FEATURES, [None] * 60), feature_reason=["empty"] * 60)
    (one,) = validate_model(study(bare), OF_NAMES).unlabelled
    assert (one.estimated, one.lower, one.n, one.reason) == (None, None, 0, "no row of the domain has features")


def test_what_is_written_is_read_again(found: ModelValidation, tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    rows = study(observations("z", **UNLABELLED))
    OBSERVATIONS.write(rows, path, {"logprobs": {"logprobs_mode": "raw_logprobs"}})
    write_validation(str(path), OF_NAMES, str(tmp_path / "m.json"))
    (read,) = read_validations([tmp_path / "m.json"])
    assert read == found
    OBSERVATIONS.write(rows, path, {"logprobs": {"logprobs_mode": "processed_logprobs"}})
    with pytest.raises(ProvenanceError, match="before temperature"):
        write_validation(str(path), OF_NAMES, str(tmp_path / "m.json"))


def test_a_study_with_kinds_is_written_and_read_with_both_verdicts(tmp_path: Path) -> None:
    kinds = pl.when(pl.int_range(pl.len()).over("benchmark") < 30).then(pl.lit("easy")).otherwise(pl.lit("hard"))
    rows = study(names="abc").with_columns(kind=kinds)
    found = validate_model(rows, OF_NAMES)
    assert found.new_groups is not None
    found.write(tmp_path / "m.json")
    (read,) = read_validations([tmp_path / "m.json"])
    assert read.verdicts_by_scope == found.verdicts_by_scope
    assert [verdict for _, verdict, _ in read.verdicts_by_scope] == [found.verdict, found.new_groups.verdict]


def with_words(rows: pl.DataFrame, first: int) -> pl.DataFrame:
    """Rows whose responses have three of these six buckets, each another three."""
    words = [[first + (place + step) % 6 for step in range(3)] for place in range(len(rows))]
    return rows.with_columns(buckets=pl.Series(words, dtype=pl.List(pl.UInt8)), buckets_of=pl.lit("tokens"))


def test_an_unlabelled_domain_of_other_words_is_unfamiliar_and_its_interval_rests_on_the_prior() -> None:
    labelled = with_words(study(), 0)
    like, unlike = (
        with_words(observations(name, **UNLABELLED), first) for name, first in (("like", 0), ("unlike", 100))
    )
    found = validate_model(pl.concat([labelled, like, unlike]), OF_NAMES)
    own, other = found.unlabelled
    assert (own.domain, own.unfamiliar, own.basis) == ("like", None, "predictive")
    assert other.unfamiliar.startswith("unlike anything labelled (distance ")
    assert other.basis == "prior"
    assert other.upper - other.lower > own.upper - own.lower


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"verdict": "usable"}'])
def test_a_damaged_file_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(text)
    with pytest.raises(DamagedFileError, match=r"m\.json: must be a file of stage 'validation'.*delete it"):
        read_validations([tmp_path / "m.json"])
