"""The page's section on traffic of many kinds: fitted on some families of questions, applied to others."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from entropy_sentinel.api.response_reading import read_logs
from entropy_sentinel.estimators.estimator_base import FitFailure
from entropy_sentinel.estimators.familiarity import PRIOR
from entropy_sentinel.estimators.training_rows import one_thread
from entropy_sentinel.features.feature_computation import compute_features
from made.how_well.cases import FLOOR, METHODS, with_errors
from made.how_well.fitted import beside_estimates, training_rows
from made.how_well.page import Cases, inside, number, share
from made.how_well.second_opinion import EXAMPLE, read_kinds
from made.markdown import table

# Families whose answers are a word or a number.
SHORT = ("choice", "facts", "numbers")
OTHER_FAMILIES = "all other families"
FAR = 0.25
# Numbers of random labels in the new kind, and draws of each number.
LABELS = (0, 2, 3, 5, 7, 10, 20)
_DRAWS = 200


def read_observations_of_kinds(model: str) -> pl.DataFrame:
    """`by_kind` of a model from the example's traces and labels, without results of the study."""
    traces = read_logs(EXAMPLE / "traces" / model)
    labels = pl.concat(pl.read_parquet(path) for path in sorted((EXAMPLE / "labels" / model).iterdir()))
    rows = compute_features(traces).rename({"reason": "feature_reason"}).filter(pl.col("feature_reason").is_null())
    rows = rows.join(labels.select("item_id", "label"), on="item_id", maintain_order="left")
    return by_kind(rows.join(read_kinds().select("item_id", "kind"), on="item_id", maintain_order="left"))


def by_kind(observations: pl.DataFrame) -> pl.DataFrame:
    """The study of kinds as observations for training, with the column `family` and the kind as `benchmark`."""
    return observations.with_columns(
        family="benchmark", benchmark="kind", kind=pl.lit(None, pl.String), split=pl.lit("train")
    )


def asked_elsewhere(kinds: pl.DataFrame, mathematics: pl.DataFrame | None) -> dict[str, Cases]:
    """The cases of `recommended` by what it was fitted on; a kind is never among its own training domains."""
    families = kinds["family"].unique(maintain_order=True).to_list()
    result: dict[str, Cases] = {}
    if mathematics is not None:
        result["mathematics"] = beside_estimates(mathematics.with_columns(split=pl.lit("train")), kinds)
    short = pl.col("family").is_in(SHORT)
    result["short answers"] = beside_estimates(kinds.filter(short), kinds.filter(~short))
    result[OTHER_FAMILIES] = pl.concat(
        beside_estimates(kinds.filter(pl.col("family") != name), kinds.filter(family=name)) for name in families
    )
    return result


def estimates_left_out(kinds: pl.DataFrame, column: str, methods: Iterable[str] = METHODS) -> Cases:
    """The estimate of each method for every kind, fitted without the kind's value of `column`."""
    rows = []
    with one_thread():
        for (value,), part in kinds.group_by(column, maintain_order=True):
            training = training_rows(kinds.filter(pl.col(column) != value))
            for name in methods:
                estimator = training.fit(name)
                if isinstance(estimator, FitFailure):
                    continue
                for (kind,), one in part.group_by("benchmark", maintain_order=True):
                    labelled = one.filter(pl.col("label").is_not_null())
                    rows.append((name, kind, estimator.accuracy(labelled), labelled["label"].mean()))
    return with_errors(pl.DataFrame(rows, schema=["method", "benchmark", "estimated", "true"], orient="row"))


def with_labels(kinds: pl.DataFrame, cases: Cases) -> dict[int, tuple[float, float]]:
    """The mean error over kinds with n random labels: of the labels alone, and of labels and estimate together.

    The estimate, of `cases` fitted on all other families, counts as e (1 - e) / s^2 - 1 labels, at least half a label;
    s is the spread of its errors in the validation, or the prior's if the kind is unfamiliar.
    """
    alone: dict[int, list[float]] = {n: [] for n in LABELS}
    together: dict[int, list[float]] = {n: [] for n in LABELS}
    draw = np.random.default_rng(42)
    columns = cases.select("benchmark", "estimated", "spread", "unfamiliar")
    for name, estimate, validated, unfamiliar in columns.iter_rows():
        labels = kinds.filter(pl.col("benchmark") == name)["label"].drop_nulls().cast(pl.Float64).to_numpy()
        e, spread = min(max(estimate, 0.02), 0.98), PRIOR.scale if unfamiliar else validated
        worth = max(e * (1 - e) / spread**2 - 1, 0.5)
        for n in LABELS:
            drawn = np.array([draw.choice(labels, n, replace=False).sum() for _ in range(_DRAWS)])
            both = (drawn + worth * e) / (n + worth)
            together[n].append(float(np.abs(both - labels.mean()).mean()))
            # Without a label, the best guess that needs nothing is one half.
            alone[n].append(float(np.abs((drawn / n if n else np.array([0.5])) - labels.mean()).mean()))
    return {n: (float(np.mean(alone[n])), float(np.mean(together[n]))) for n in LABELS}


def section(
    cases: Mapping[str, Mapping[str, Cases]],
    left_out: Mapping[str, tuple[Cases, Cases]],
    labels: Mapping[str, dict[int, tuple[float, float]]],
    verdicts: Sequence[str],
) -> str:
    """The section. `cases` are keyed by model and by training families. `left_out` has the estimates of methods
    if a kind, or its whole family, is left out; `labels` has the errors with some labels, by model. `verdicts` are
    those of the validations of all models, for new kinds and for new families.
    """
    rows = []
    for model, by_training in cases.items():
        for known, part in by_training.items():
            far = pl.col("error") > FAR
            width = part.select((pl.col("upper_90%") - pl.col("lower_90%")).mean()).item()
            flagged = pl.col("unfamiliar")
            rows.append([
                known, model, str(len(part)), number(part["error"].mean()), share(part, far), share(part, flagged),
                share(part.filter(far), flagged), share(part, inside(0.9)), number(width),
            ])  # fmt: skip
    head = [
        "fitted on",
        "model",
        "kinds",
        "AEE",
        f"off by more than {FAR}",
        "unfamiliar",
        "of those far off",
        "90% intervals that hold",
        "their width",
    ]
    return "\n\n".join(
        (
            "## Traffic of many kinds",
            "Answers of two models to 23 kinds of question in seven families\n"
            "([examples/kinds](../examples/kinds/README.md)). No kind of the asked family is among the labels.",
            table(head, rows),
            "Fitted on one narrow subject, every other kind is flagged. Fitted on several families, a new kind is\n"
            "hardly ever farther from the labelled ones than they are from each other, so it is not flagged: the\n"
            "intervals say what such an estimate is worth, and are wide. The validation refuses: fitted on all these\n"
            f"kinds, its verdicts are {_in_words(verdicts)}. Where kinds are unlike each other, no method that\n"
            "has only the log is far better than their mean accuracy:",
            _methods(left_out),
            "So label some responses of each new kind. The table shows the mean error over kinds with n random labels\n"
            "in the kind, fitted on the other families: from the labels alone, and with the estimate counted as the\n"
            "labels that it is worth (`equals n labels` beside every estimate).",
            _labels(labels),
        )
    )


def _in_words(verdicts: Sequence[str]) -> str:
    counts = Counter(verdicts)
    return ", ".join(f"**{verdict}** ({count})" for verdict, count in counts.most_common())


def _methods(left_out: Mapping[str, tuple[Cases, Cases]]) -> str:
    head = ["AEE of", *(f"{model}: one {what} left out" for model in left_out for what in ("kind", "family"))]
    floor_first = [FLOOR, *(name for name in METHODS if name != FLOOR)]
    rows = [
        [
            METHODS[name],
            *(number(part.filter(method=name)["error"].mean()) for pair in left_out.values() for part in pair),
        ]
        for name in floor_first
    ]
    return table(head, rows)


def _labels(labels: Mapping[str, Mapping[int, tuple[float, float]]]) -> str:
    head = ["labels", *(f"{model}: {what}" for model in labels for what in ("labels alone", "with the estimate"))]
    rows = []
    for n in LABELS:
        errors = [of[n] for of in labels.values()]
        rows.append(
            [str(n), *(cell for alone, both in errors for cell in ("-" if not n else number(alone), number(both)))]
        )
    return table(head, rows)
