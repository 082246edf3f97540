"""Stage `domains`: what separates correct from incorrect responses of a domain, and how many of each it has."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS
from entropy_sentinel.analyses.inputs import read_several
from entropy_sentinel.features.compute import missing_mass
from entropy_sentinel.frames.generation import CUT_OFF
from entropy_sentinel.frames.response import item_numbers
from entropy_sentinel.signals.catalogue import SIGNALS
from entropy_sentinel.signals.observation_frame import families_of, observations_of
from entropy_sentinel.statistics.ambiguity import ambiguous_questions
from entropy_sentinel.statistics.auroc import auroc_interval


def write_domains(observations: Sequence[str], models: Sequence[str], auroc_output: str, domains_output: str) -> None:
    """AUROC of every signal, and the counts of labels and nulls, per model and domain of the files, one a model."""
    # All files of a study have the same families.
    contract = observations_of(families_of(observations[0]) if observations else ())
    frame = read_several(contract, observations, {"model": models})
    parts = [part for _, part in frame.group_by("model", "benchmark", maintain_order=True)]
    AUROC.write(AUROC.frame([row for part in parts for row in auroc_rows(part)]), auroc_output, {})
    DOMAINS.write(DOMAINS.frame([domain_row(part) for part in parts]), domains_output, {})


def auroc_rows(observations: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of contract AUROC for one domain of one model, over its rows with a label, features and the signal."""
    usable = observations.filter(pl.col("label").is_not_null(), pl.col("feature_reason").is_null())
    every, items = usable["label"].to_numpy(), item_numbers(usable)
    for signal in (one for name, one in SIGNALS.items() if name in usable.columns):
        values = usable[signal.name].to_numpy()
        there = np.isfinite(values)
        correct = every[there]
        yield {
            **_domain(observations),
            "feature": signal.name,
            **auroc_interval(values[there], correct, signal.confident, items[there])._asdict(),
            "n_correct": int(correct.sum()),
            "n_incorrect": int((~correct).sum()),
        }


def domain_row(observations: pl.DataFrame) -> dict[str, Any]:
    """The row of contract DOMAINS for one domain of one model."""
    label, featureless = observations["label"], observations["feature_reason"].is_not_null()
    usable = observations.filter(label.is_not_null() & ~featureless)
    cut_off, whole = observations.filter(CUT_OFF), usable.filter(~CUT_OFF)
    questions = ambiguous_questions(observations)
    reasons = pl.concat([observations["label_reason"], observations["feature_reason"]]).drop_nulls()
    return {
        **_domain(observations),
        "n_responses": len(observations),
        "n_correct": label.sum(),
        "n_incorrect": (~label).sum(),
        "n_unlabelled": label.null_count(),
        "n_featureless": featureless.sum(),
        "n_truncated": len(cut_off),
        "n_truncated_correct": cut_off["label"].sum(),
        "n_truncated_incorrect": (~cut_off["label"]).sum(),
        "mean_tokens": observations["n_tokens"].mean(),
        "accuracy": usable["label"].mean(),
        "accuracy_whole": whole["label"].mean(),
        **missing_mass(observations, "feature_reason"),
        "reasons": json.dumps(dict(sorted(reasons.value_counts().iter_rows()))),
        "n_ambiguous": None if questions is None else questions[0],
        "n_questions": None if questions is None else questions[1],
    }


def _domain(observations: pl.DataFrame) -> dict[str, str]:
    return observations.select("model", "benchmark").row(0, named=True)
