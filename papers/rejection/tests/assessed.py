"""Observations of two models and the scores of their assessors, reproducible; one domain has no labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from observations import observations
from papers.rejection.rejection_exhibits import QUESTION_ONLY
from papers.rejection.rejection_frames import ASSESSMENTS
from papers.rejection.rejection_measures import measure_model

FOREST, BASELINE, ATC = "forest-10d-balanced-isotonic", "baseline-mtp", "atc-max"
MODELS, DOMAINS, UNLABELLED = ("tiny-a", "tiny-b"), ("fractions", "logic", "words"), "puzzles"
# Named groups: the first is the headline.
GROUPS = {
    "extremes": {"benchmarks": ["words", "fractions"], "estimator": FOREST},
    "single": {"benchmarks": ["logic"], "estimator": "logistic-10d-balanced-isotonic"},
}
EXTREMES, SINGLE = "fractions+words", "logic"
ASSESSORS = {EXTREMES: [FOREST, ATC, BASELINE, QUESTION_ONLY], SINGLE: [BASELINE, QUESTION_ONLY]}
SETTINGS: dict[str, Any] = {"assessors": ASSESSORS, "accuracies": [0.8, 0.95], "resamples": 50, "seed": 42}
SHOWN: dict[str, Any] = {
    "label": "made up",
    "groups": GROUPS,
    "headline_group": "extremes",
    "assessors": ASSESSORS,
    "accuracies": [0.8, 0.95],
}
# What the assessors know: the share of the score that is not noise.
_KNOWS = {FOREST: 0.8, BASELINE: 0.6, QUESTION_ONLY: 0.1}


def observed(model: str, domains: Sequence[str] = (*DOMAINS, UNLABELLED)) -> pl.DataFrame:
    """A frame OBSERVATIONS of 60 responses to each domain, `puzzles` without labels."""
    nothing = {"label": [None] * 60, "label_reason": ["no reference"] * 60}
    named = {"model": [model] * 60}
    return pl.concat([observations(name, **named, **(nothing if name == UNLABELLED else {})) for name in domains])


def scores(frame: pl.DataFrame, assessors: dict[str, list[str]] = ASSESSORS) -> pl.DataFrame:
    """A frame ASSESSMENTS of all responses by the assessors that give a probability; the forest's have ties."""
    random = np.random.default_rng(len(frame["model"][0]) + ord(frame["model"][0][-1]))
    correct, parts = frame["label"].fill_null(True).to_numpy(), []
    for group, names in assessors.items():
        for name in (name for name in names if name in _KNOWS):
            p = _KNOWS[name] * correct + (1 - _KNOWS[name]) * random.random(len(frame))
            p = p.round(1) if name == FOREST else p
            part = frame.with_columns(group=pl.lit(group), estimator=pl.lit(name), p=p)
            parts.append(part.select(ASSESSMENTS.schema.names()))
    return pl.concat(parts)


def measured() -> pl.DataFrame:
    """A frame MEASURES of both models."""
    frames = [observed(model) for model in MODELS]
    return pl.concat([measure_model(frame, scores(frame), SETTINGS) for frame in frames])
