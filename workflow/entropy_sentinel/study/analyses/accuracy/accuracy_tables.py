"""The tables declared in accuracy_exhibits.py, from the frames of the study, for any number of models.

AEE, AUROC and accuracies are shares in [0, 1], rho is a correlation in [-1, 1].
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from entropy_sentinel.estimators.estimator_registry import (
    CANDIDATES,
    FEWEST_FOR_FIRST,
    FEWEST_TO_CHOOSE,
    RECOMMENDED,
    estimator_title,
)
from entropy_sentinel.formatting.text_format import format_list
from entropy_sentinel.rendering import exhibit_files
from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.rendering.table_exhibit import Table, missing_notes, number_frame, select_headings, write_table
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.file_sets import read_all
from entropy_sentinel.statistics.conformal import smallest_calibration_size
from entropy_sentinel.statistics.estimate_errors import median_value
from entropy_sentinel.statistics.slice_intervals import NOTES
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import TABLES
from entropy_sentinel.study.analyses.accuracy.exhibit_inputs import AccuracyTableInputs
from entropy_sentinel.study.analyses.accuracy.headline import ERROR, warn_ambiguous
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import (
    AUROC,
    DOMAINS,
    REPEATS,
    SWEEP,
    AccuracyFiles,
)
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import (
    LEVEL,
    DomainResult,
    EstimatorErrors,
    ModelValidation,
    read_validations,
)
from entropy_sentinel.study.analyses.accuracy.published_comparison import compare_table, describe_basis
from entropy_sentinel.study.analyses.accuracy.sweep_aggregation import (
    MEASURES,
    drop_small_rho,
    get_nulls_last_key,
    list_distinct,
    list_null_notes,
)
from entropy_sentinel.study.analyses.display_names import ROLES, SCOPE_NOTE, ExhibitSettings, list_training_groups

# The fewest labelled domains that a conformal interval needs.
_FEWEST = smallest_calibration_size(LEVEL)
# Largest number of methods that a note names.
_MAX_NAMED = 4
_LEFT_OUT_NOTE = "Each labelled domain is estimated by an estimator fitted on the labels of the others."


def table_validation(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the recommended estimator's results on every domain without its labels, unlabelled domains first."""
    unlabelled: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    # What the intervals are based on: keys of NOTES, None without an interval.
    bases: set[str | None] = set()
    for validation in inputs.validations:
        unlabelled += [_make_domain_row(validation.model, domain) for domain in validation.unlabelled]
        left_out += [_make_domain_row(validation.model, domain) for domain in validation.left_out]
        bases.update(domain.basis for domain in (*validation.unlabelled, *validation.left_out))
    numbers = ["Responses", "Estimated", "Lower", "Upper", "True", "Error", "Conformal from", "Conformal to"]
    return Table(
        f"By the recommended estimator, with {LEVEL:.0%} intervals.",
        number_frame([*unlabelled, *left_out], ["Model", "Domain"], [*numbers, "Interval"]),
        (
            f"{_LEFT_OUT_NOTE} Unlabelled domains come first, estimated from all labelled domains.",
            "Responses: for a labelled domain, only those with a label. Error: estimated minus true.",
            *[f"Lower and Upper: {note}" for basis, note in NOTES.items() if basis in bases],
            f"Conformal: the {LEVEL:.0%} interval from the ranks of errors, whatever their distribution; its "
            f"level holds over all sets of domains, not given the verdict. It needs {_FEWEST} other domains.",
        ),
    )


def _make_domain_row(model: str, domain: DomainResult) -> dict[str, Any]:
    """The cells of a domain by heading; "Interval" says what it is based on, or why there is no estimate."""
    return {
        "Model": model,
        "Domain": domain.domain,
        "Responses": domain.n,
        "Estimated": domain.estimated,
        "Lower": domain.lower,
        "Upper": domain.upper,
        "True": domain.true,
        "Error": domain.error,
        "Conformal from": domain.conformal_lower,
        "Conformal to": domain.conformal_upper,
        "Interval": domain.basis or domain.reason,
    }


def table_methods(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the AEE of every method over each model's labelled domains, the smallest first, with its intervals."""
    rows = []
    for validation in inputs.validations:
        for method in sorted(validation.methods, key=lambda method: get_nulls_last_key(method.aee)):
            rows.append({"Model": validation.model} | _make_method_row(method, validation.recommended))
    return Table(
        "AEE over the labelled domains, the smallest first.",
        number_frame(rows, ["Model", "Estimator"], ["Domains", "AEE", "from", "to", _DIFFERENCE, *_DIFFERENCE_ENDS]),
        (
            _LEFT_OUT_NOTE,
            f"from, to: {LEVEL:.0%} interval of the mean over domains like these (Student's). "
            f"{_DIFFERENCE}: the same for the differences on each domain. If it contains 0, these domains do not say "
            "which of the two is better.",
            "The recommended estimator is chosen anew for each domain, from the others' labels only.",
            *_list_partial_notes(inputs.validations),
        ),
    )


_DIFFERENCE = "Minus recommended"
_DIFFERENCE_ENDS = (f"{_DIFFERENCE}: from", f"{_DIFFERENCE}: to")


def _make_method_row(method: EstimatorErrors, recommended: EstimatorErrors) -> dict[str, Any]:
    """An estimator's AEE with its interval, and its difference from that of the recommended estimator."""
    interval = None if method.aee is None else method.aee_interval()
    lower, upper = interval or (None, None)
    # The recommended estimator is not compared with itself.
    comparison = None if method is recommended else method.minus(recommended)
    difference, difference_interval = comparison or (None, None)
    difference_lower, difference_upper = difference_interval or (None, None)
    return {
        "Estimator": method.title,
        "Domains": method.n_domains,
        "AEE": method.aee,
        "from": lower,
        "to": upper,
        _DIFFERENCE: difference,
        _DIFFERENCE_ENDS[0]: difference_lower,
        _DIFFERENCE_ENDS[1]: difference_upper,
    }


def _list_partial_notes(validations: Sequence[ModelValidation]) -> list[str]:
    """`a, b: every method could estimate 4 of 5 domains.`: a note on methods that lack estimates, with its models."""
    models_by_note: dict[str, list[str]] = {}
    for validation in validations:
        n_domains = len(validation.left_out)
        titles_by_count: dict[int, list[str]] = {}
        for method in validation.methods:
            titles_by_count.setdefault(method.n_domains, []).append(method.title)
        for count, titles in titles_by_count.items():
            if count >= n_domains:
                continue
            is_every = len(titles) == len(validation.methods) > 1
            methods_text = "every method" if is_every else format_list(titles, _MAX_NAMED, "; ")
            note = f"{methods_text} could estimate {count} of {n_domains} domains."
            models_by_note.setdefault(note, []).append(validation.model)
    return [f"{', '.join(models)}: {note}" for note, models in models_by_note.items()]


_HEADINGS = {
    "model": "Model",
    "benchmark": "Domain",
    "estimated_accuracy": "Estimated",
    "n_rows": "Responses",
    "n_labelled": "Labels",
    "estimated_on_labelled": "Estimated on labelled",
    "true_accuracy": "True",
    "error": "Error",
    "ambiguous": "Look ambiguous",
    "title": "Training group",
    "role": "Role",
    "estimator": "Estimator",
}


def table_estimates(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the results of the estimator of each named training group on every domain, unlabelled domains first.

    The share of questions that look ambiguous is shown if it is known for at least one domain.
    """
    groups = list_training_groups(inputs.groups)
    titles = pl.DataFrame(
        [(group.group_id, group.estimator, group.title) for group in groups],
        schema={"group": pl.String, "estimator": pl.String, "title": pl.String},
        orient="row",
    )
    ambiguity = inputs.domains.select("model", "benchmark", ambiguous=pl.col("n_ambiguous") / pl.col("n_questions"))
    rows = (
        inputs.estimates.join(titles, on=["group", "estimator"], maintain_order="left_right")
        .join(ambiguity, on=["model", "benchmark"], how="left", maintain_order="left")
        .with_columns(error=ERROR, role=pl.col("role").replace_strict(ROLES))
        .sort(pl.col("n_labelled") > 0, maintain_order=True)
    )
    headings = dict(_HEADINGS)
    if not rows["ambiguous"].count():
        del headings["ambiguous"]
    missing = rows.drop_nulls("reason").select(pl.format("{}, {}, {}", "model", "benchmark", "title"), "reason")
    cautions = rows.drop_nulls("caution").unique(["model", "title"], maintain_order=True)
    return Table(
        "By each named training group's estimator. Unlabelled domains come first: they have an estimate but no true "
        "accuracy.",
        select_headings(rows, headings),
        (
            "Estimated: over all responses with features. Error: the estimate for the labelled responses minus the "
            "share of these that are correct.",
            "Role: training domains are estimated on their test split, unseen ones on all their responses.",
            *[f"{group.title}: {group.benchmarks}." for group in groups],
            *missing_notes(("estimate", reason, row) for row, reason in missing.iter_rows()),
            *warn_ambiguous(inputs.domains),
            *cautions.select(pl.format("{}, {}: caution, {}.", "model", "title", "caution")).to_series(),
        ),
    )


def table_cut_off(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the accuracy on every domain over all labelled responses, and over those that are not truncated."""
    labelled = pl.col("n_truncated_correct") + pl.col("n_truncated_incorrect")
    rows = inputs.domains.filter(pl.col("accuracy").is_not_null()).select(
        pl.col("model").alias("Model"),
        pl.col("benchmark").alias("Domain"),
        pl.col("n_responses").alias("Responses"),
        (pl.col("n_truncated") / pl.col("n_responses")).alias("Share truncated"),
        pl.col("n_truncated").alias("Truncated"),
        labelled.alias("of these labelled"),
        pl.col("n_truncated_correct").alias("of these correct"),
        pl.col("accuracy").alias("Accuracy"),
        pl.col("accuracy_whole").alias("Accuracy without them"),
        (pl.col("accuracy_whole") - pl.col("accuracy")).alias("Difference"),
    )
    return Table(
        "Everywhere else, truncated responses keep their labels and count.",
        rows,
        (
            "Accuracy: the share of correct responses among those with a label and features, over all items, for "
            "both training and unseen domains.",
            "A dash marks a domain whose labelled responses are all truncated.",
        ),
    )


_NUMBERS = ["Recommended", "Default", "Best"]


def table_recommended(inputs: AccuracyTableInputs) -> Table:
    """Tabulate the median AEE on unseen domains, by model, for each named group and for all groups of each size."""
    unseen = inputs.sweep.filter(pl.col("scope") == "held_out", pl.col("aee").is_not_null())
    # The sets of training groups, a row for each: the condition on rows of the sweep by heading.
    conditions: dict[str, pl.Expr] = {}
    for group in list_training_groups(inputs.groups):
        conditions[group.title] = pl.col("group") == group.group_id
    for k in sorted(set(unseen["k"])):
        conditions[f"all of size {k}"] = pl.col("k") == k
    rows = []
    for model in list_distinct(unseen, "model"):
        for heading, is_in_set in conditions.items():
            part = unseen.filter(pl.col("model") == model, is_in_set)
            if len(part):
                rows.append({"Model": model, "Training group": heading} | _make_recommended_row(part, inputs.default))
    return Table(
        "AEE on unseen domains, medians over training groups. The best is known only after the fact.",
        number_frame(rows, ["Model", "Training group", "Groups"], [*_NUMBERS, "Best is", "Recommended took"]),
        (
            SCOPE_NOTE,
            f"Recommended: {estimator_title(CANDIDATES[0])}, or a method that is better on "
            f"{FEWEST_TO_CHOOSE} or more training "
            f"benchmarks, each held out in turn. With fewer than {FEWEST_FOR_FIRST}: {estimator_title(CANDIDATES[1])}.",
            f"Default: {inputs.default}; - if it has no result for one of the groups. Best: the smallest median of all "
            "estimators that were run on all these groups; it is not known beforehand.",
        ),
    )


def table_repeats(inputs: AccuracyTableInputs) -> Table:
    """Tabulate median and range over seeds of AEE and rho on unseen domains, by model, named group and estimator."""
    titles = {group.group_id: group.title for group in list_training_groups(inputs.groups)}
    unseen = drop_small_rho(inputs.repeats.filter(pl.col("scope") == "held_out"))
    rows = []
    for (model, group, estimator), part in unseen.group_by("model", "group", "estimator", maintain_order=True):
        row = {
            "Model": model,
            "Training group": titles[group],
            "Estimator": estimator,
            "Seeds": part["seed"].n_unique(),
        }
        for measure, heading in MEASURES.items():
            values = part[measure].drop_nulls()
            row |= {f"Median {heading}": values.median(), f"Least {heading}": values.min()}
            row[f"Largest {heading}"] = values.max()
        rows.append(row)
    numbers = []
    for heading in MEASURES.values():
        numbers += [f"Median {heading}", f"Least {heading}", f"Largest {heading}"]
    return Table(
        "AEE and rho on unseen domains under several seeds of folds, forests and networks, on the same rows.",
        number_frame(rows, ["Model", "Training group", "Estimator", "Seeds"], numbers),
        (
            "A difference between two estimators that is smaller than this range may be due to the seed.",
            *([] if rows else ["Every estimator was fitted once; set analyses.accuracy.repeats to use more seeds."]),
            *list_null_notes(unseen),
        ),
    )


def _make_recommended_row(part: pl.DataFrame, default: str) -> dict[str, Any]:
    """Cells from `part`, the rows of SWEEP of one model on some training groups; `default` is an estimator's name."""
    n_groups = part["group"].n_unique()
    medians = {}
    for (name,), rows in part.group_by("estimator", maintain_order=True):
        # A median over only some of the groups is not comparable.
        if len(rows) == n_groups:
            medians[name] = median_value(rows["aee"].to_numpy())
    other_medians = {name: error for name, error in medians.items() if name != RECOMMENDED}
    best = min(other_medians, key=lambda name: other_medians[name], default=None)
    # The methods that the recommended estimator chose, with the number of groups if there are several.
    chosen = part.filter(pl.col("estimator") == RECOMMENDED)["method"].drop_nulls().value_counts(sort=True)
    counts = [estimator_title(name) + (f" ({count})" if n_groups > 1 else "") for name, count in chosen.iter_rows()]
    return {
        "Groups": n_groups,
        "Recommended": medians.get(RECOMMENDED),
        "Default": medians.get(default),
        "Best": other_medians.get(best),
        "Best is": None if best is None else estimator_title(best),
        "Recommended took": ", ".join(counts) or None,
    }


class AccuracyTableFiles(AccuracyFiles):
    """Files of the tables: `estimates` of all named groups, and `repeats` of all models or no model.

    The provenance of `generations` and `labels` shows what a comparison with the paper is based on.
    """

    auroc: str
    repeats: Sequence[str]
    generations: Sequence[str]
    labels: Sequence[str]


class AccuracyTableSettings(ExhibitSettings):
    """Settings of the tables."""

    default: str
    main_groups: list[str]
    auroc_models: list[str]
    auroc_benchmarks: list[str]


def make_table(name: str, inputs: AccuracyTableInputs) -> Table:
    """A table with its published values, if there are any, and with the study's label as the last note.

    Published values are compared with the whole study, whatever the table shows.
    """
    inputs = replace(inputs, sweep=drop_small_rho(inputs.sweep))
    table = exhibit_files.make_table(TABLES[name], inputs)
    return replace(table, published=compare_table(name, inputs))


def write_tables(
    files: AccuracyTableFiles, settings: AccuracyTableSettings, tables: Sequence[str], folder: str
) -> None:
    """Write the tables of these names to `folder`."""
    generations = list(map(read_provenance, files["generations"]))
    labels = list(map(read_provenance, files["labels"]))
    inputs = AccuracyTableInputs(
        **settings,
        sweep=SWEEP.read(files["sweep"]),
        auroc=AUROC.read(files["auroc"]),
        domains=DOMAINS.read(files["domains"]),
        estimates=read_all(ESTIMATES, files["estimates"]),
        repeats=read_all(REPEATS, files["repeats"]),
        validations=read_validations(files["validation"]),
        basis_note=describe_basis(generations, labels),
    )
    for name in tables:
        write_table(Exhibit("table", name, TABLES[name].title), make_table(name, inputs), folder)
