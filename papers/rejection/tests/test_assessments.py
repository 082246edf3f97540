"""The assessor that sees the question alone."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from observations import SETTINGS, observations
from papers.rejection.question_assessor import assess_questions, write_assessments
from papers.rejection.rejection_frames import ASSESSMENTS
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.stages.estimate_stage import select_training_rows

FRAME = pl.concat([observations(name) for name in "abc"])


def questions(frame: pl.DataFrame = FRAME) -> pl.DataFrame:
    """A question for every item, which says whether its answer will be right but for every seventh."""
    items = frame.unique("item_id", maintain_order=True)
    texts = [
        f"an {'easy' if (label is True) != (row % 7 == 0) else 'awkward'} one: {row % 5} + {row % 3}"
        for row, label in enumerate(items["label"])
    ]
    return items.select("item_id", question=pl.Series(texts))


def test_scores_are_those_of_scikit_learn_on_the_rows_that_estimators_train_on() -> None:
    result, reasons = assess_questions(FRAME, questions(), ["a+b"])
    assert reasons == {}
    rows = FRAME.join(questions(), on="item_id", maintain_order="left")
    train = rows.filter(pl.col("benchmark").is_in(["a", "b"]), pl.col("split") == "train")
    assert len(train) == len(select_training_rows(FRAME, "a+b", SETTINGS)) == 96
    terms = TfidfVectorizer(token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2), sublinear_tf=True)
    model = LogisticRegression(max_iter=1000).fit(terms.fit_transform(train["question"].to_list()), train["label"])
    expected = model.predict_proba(terms.transform(rows["question"].to_list()))[:, 1]
    assert np.allclose(result["p"], expected, atol=1e-12)
    assert result["item_id"].to_list() == FRAME["item_id"].to_list()
    assert result["estimator"].unique().to_list() == ["question-only"]
    easy = rows["question"].str.contains("easy")
    assert result.filter(easy)["p"].min() > 0.5 > result.filter(~easy)["p"].max()


def test_test_rows_and_labels_of_other_domains_have_no_say() -> None:
    other = pl.col("benchmark").is_in(["a", "b"]) & (pl.col("split") == "train")
    turned = FRAME.with_columns(label=pl.when(other).then("label").otherwise(~pl.col("label")))
    assert assess_questions(FRAME, questions(), ["a+b"])[0].equals(assess_questions(turned, questions(), ["a+b"])[0])


def test_rows_without_features_or_label_train_nothing_and_those_without_features_have_no_score() -> None:
    row = pl.int_range(pl.len())
    frame = FRAME.with_columns(
        label=pl.when(row % 4 == 1).then(None).otherwise("label"),
        feature_reason=pl.when(row % 4 == 2).then(pl.lit("no token")).otherwise(None),
    )
    result = assess_questions(frame, questions(), ["a+b"])[0]
    alone = frame.filter(row % 4 != 2)
    assert result.equals(assess_questions(alone, questions(), ["a+b"])[0])
    assert result["item_id"].to_list() == alone["item_id"].to_list()


def test_samples_of_one_item_share_their_score() -> None:
    twice = pl.concat([FRAME, FRAME.with_columns(sample=pl.lit(1, pl.UInt16))])
    result = assess_questions(twice, questions(), ["a"])[0]
    assert (result.group_by("item_id").agg(pl.col("p").n_unique())["p"] == 1).all()
    assert len(result) == 2 * len(FRAME)


def test_groups_of_one_class_or_without_rows_have_no_scores_and_a_reason() -> None:
    right = pl.when(pl.col("benchmark") == "b").then(True).when(pl.col("benchmark") == "c").then(None)
    frame = FRAME.with_columns(label=right.otherwise("label"))
    result, reasons = assess_questions(frame, questions(), ["a", "b", "c", "a"])
    assert result["group"].unique().to_list() == ["a"]
    assert reasons == {
        "b": "all training rows are of one class: nothing to fit a classifier on",
        "c": "no training row: nothing to fit a classifier on",
    }


@pytest.mark.parametrize("groups", [["a+b"], []])
def test_file_keeps_its_contract(groups: list[str], tmp_path: Path) -> None:
    items = questions().with_columns(reference=pl.lit("1"), duplicate_of="item_id").to_dict(as_series=False)
    BENCHMARKS.write(
        BENCHMARKS.frame({name: items[name] for name in BENCHMARKS.schema if name in items}),
        tmp_path / "items.parquet",
        {},
    )
    OBSERVATIONS.write(FRAME, tmp_path / "m.parquet", {})
    output = tmp_path / "questions.parquet"
    write_assessments(str(tmp_path / "m.parquet"), [str(tmp_path / "items.parquet")], groups, str(output))
    assert ASSESSMENTS.read(output).equals(assess_questions(FRAME, questions(), groups)[0])
    assert read_provenance(output)["model"] == "m"
