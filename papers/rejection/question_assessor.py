"""Stage `assessments`: a baseline assessor that sees only the question, to show what the trace adds.

A logistic regression on TF-IDF of a question's words and word pairs, fitted on the same rows as a training group's
estimators and applied to the same rows.
"""

from collections.abc import Sequence

import polars as pl
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.statistics.array_types import Names, Numbers
from papers.rejection.rejection_exhibits import QUESTION_ONLY
from papers.rejection.rejection_frames import ASSESSMENTS

# Words, numbers (single digits included), and signs, which are a large part of many mathematics questions.
_TOKEN = r"\w+|[^\w\s]"


def write_assessments(observations: str, benchmarks: Sequence[str], groups: Sequence[str], output: str) -> None:
    """Write P(correct) of one model's responses from the questions only, for each training group (`a+b`).

    `observations` is the model's file OBSERVATIONS, `benchmarks` are files BENCHMARKS with its questions.
    """
    rows = OBSERVATIONS.read(observations)
    questions = pl.concat(BENCHMARKS.read(path, ["item_id", "question"]) for path in benchmarks)
    frame, reasons = assess_questions(rows, questions, groups)
    ASSESSMENTS.write(frame, output, {"model": rows["model"][0], "reasons": reasons})


def assess_questions(
    observations: pl.DataFrame, questions: pl.DataFrame, groups: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, str]]:
    """A frame of contract ASSESSMENTS, and by training group (`a+b`) the reason if it has no rows in it.

    `observations` is a frame OBSERVATIONS of one model, `questions` has the columns item_id and question.
    """
    feature_rows = observations.filter(pl.col("feature_reason").is_null()).join(
        questions, on="item_id", how="left", maintain_order="left", validate="m:1"
    )
    parts, reasons = [ASSESSMENTS.schema.to_frame()], {}
    for group in dict.fromkeys(groups):
        rows = feature_rows.filter(
            pl.col("label").is_not_null(), pl.col("benchmark").is_in(group.split("+")), pl.col("split") == "train"
        )
        if rows["label"].n_unique() < 2:
            problem = "no training row" if rows.is_empty() else "all training rows are of one class"
            reasons[group] = f"{problem}: nothing to fit a classifier on"
            continue
        p = predict_correctness(fit_assessor(rows["question"], rows["label"]), feature_rows["question"])
        estimates = feature_rows.with_columns(group=pl.lit(group), estimator=pl.lit(QUESTION_ONLY), p=p)
        parts.append(estimates.select(ASSESSMENTS.schema.names()))
    return pl.concat(parts), reasons


def fit_assessor(questions: Names, correct: Numbers) -> Pipeline:
    """Fit P(correct) of responses by their questions: one question per response, (n,), and whether it is correct, (n,).

    Both classes must occur.
    """
    terms = TfidfVectorizer(token_pattern=_TOKEN, ngram_range=(1, 2), sublinear_tf=True)
    with threadpool_limits(1):
        return make_pipeline(terms, LogisticRegression(max_iter=1000)).fit(list(questions), list(correct))


def predict_correctness(assessor: Pipeline, questions: pl.Series) -> pl.Series:
    """P(correct) of a response to each question, (n,); equal questions are computed once."""
    unique_questions = questions.unique(maintain_order=True)
    with threadpool_limits(1):
        p = assessor.predict_proba(unique_questions.to_list())[:, 1] if len(unique_questions) else []
    return questions.replace_strict(unique_questions, pl.Series(p, dtype=pl.Float64), return_dtype=pl.Float64)
