"""`entropy-sentinel features` and `fit`: from logs and labels to an estimator."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from entropy_sentinel.cli.shared_arguments import (
    INCOMPLETE_STATUS,
    Json,
    LogFiles,
    ResponseFiles,
    announce_work,
    print_json,
    print_line,
    print_verdict,
    show_progress,
    take_options,
)
from entropy_sentinel.estimators.verdict_limits import Limits
from entropy_sentinel.logs.log_options import FormatOptions, LogOptions

if TYPE_CHECKING:
    from entropy_sentinel.estimators.fit_metadata import FitMetadata
    from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
    from entropy_sentinel.estimators.validation_record import Validation
    from entropy_sentinel.logs.log_summary import LogSummary

FeaturesFile = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The Parquet file to write.")]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns", metavar="A,B", help="Columns to keep, such as metadata.route; without it, the usual ones."
    ),
]
Vocabulary = Annotated[
    int | None,
    typer.Option(
        "--vocabulary",
        min=2,
        help="Size of the model's vocabulary; bounds the entropy of the tokens beyond the logged alternatives.",
    ),
]
Signals = Annotated[
    str | None,
    typer.Option("--signals", metavar="A,B", help="Further signals to compute, for estimators that need them."),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="COLUMN",
        help="A column whose values are clusters of dependent responses, such as conversations.",
    ),
]
Split = Annotated[bool, typer.Option("--split", help="Write one file for each number of alternatives (top k).")]
Labels = Annotated[
    list[str],
    typer.Option(
        "--labels",
        "-l",
        metavar="FILE",
        help="Labels: .csv, .jsonl or .parquet with item_id and label; a log of inspect_ai has them.",
    ),
]
Judged = Annotated[
    list[str],
    typer.Option(
        "--judged",
        metavar="FILE",
        help="Verdicts of judges, or second opinions of other models, on more responses than --labels has "
        "(`entropy-sentinel judge`), of one model or several. The labels correct their errors, and the validation "
        "needs about half as many.",
    ),
]
Name = Annotated[
    str,
    typer.Option("--estimator", "-e", help="Estimator to fit: recommended, atc-max, forest-10d-balanced-isotonic, ..."),
]
EstimatorFile = Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The estimator file to write.")]
ValidationPage = Annotated[
    Path | None,
    typer.Option(
        "--page",
        metavar="FILE",
        help="Also write the validation as an HTML page, with a reliability diagram of P(correct).",
    ),
]
Domain = Annotated[
    str | None,
    typer.Option(
        "--domain",
        "-d",
        metavar="COLUMN",
        help="The column with the domain of each response, such as metadata.route; the validation holds out each "
        "domain in turn. By default the file's name, unless files are days or parts of a log.",
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        "-g",
        metavar="COLUMN",
        help="The column with the group of each domain, such as the benchmark of its subjects; the validation then "
        "also holds out each whole group.",
    ),
]


Verbose = Annotated[bool, typer.Option("--verbose", help="Print every reason for the verdicts.")]
# Reasons why responses have no features that `features` lists.
_REASONS = 5


@take_options(FormatOptions)
def features(
    files: LogFiles,
    output: FeaturesFile,
    columns: Columns = None,
    vocabulary: Vocabulary = None,
    signals: Signals = None,
    split: Split = False,
    **options: Any,
) -> None:
    """Compute the features of responses from logs or traces.

    Writes one row per response; a response without features has a reason. `fit` and `estimate` read the file. A summary
    of the logs goes to standard error. If responses have several numbers or kinds of log-probabilities, those with the
    most common kind are written, and the others are counted. The exit status is 3 if some could not be used.
    """
    from entropy_sentinel.api.input_checks import resolve_log_files
    from entropy_sentinel.api.response_reading import compute_file_features, select_most_common_kind, write_features
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.features.exclusion_reasons import find_remedy

    inputs = resolve_log_files(files)
    check_outputs({"--output": output}, inputs)
    signal_names = _split_names(signals) or []
    rows, summary = compute_file_features(inputs, vocabulary, signal_names, columns=_split_names(columns), **options)
    _show_summary(summary)
    rows, left_out = (rows, "") if split else select_most_common_kind(rows)
    written = write_features(rows, output, {"log": dict(summary.format_rows())}, split, inputs)
    without = rows["reason"].is_not_null().sum()
    names = ", ".join(map(str, written))
    print_line(f"{names}: {len(rows):,} responses, {without:,} of them without features")
    for reason, count in rows["reason"].drop_nulls().value_counts(sort=True).head(_REASONS).iter_rows():
        remedy = find_remedy(reason)
        if remedy is not None:
            print_line(f"{count:,} without features: {reason}; {remedy}", err=True)
    if left_out:
        print_line(left_out, err=True)
    if left_out or summary.n_bad:
        raise typer.Exit(INCOMPLETE_STATUS)


def _split_names(text: str | None) -> list[str] | None:
    """The names in a list such as `A,B`; None if the option is not given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _show_summary(summary: "LogSummary") -> None:
    """Print what was read and what could not be read, to standard error."""
    from rich.table import Table

    from entropy_sentinel.core.printable import make_one_line
    from entropy_sentinel.rendering.terminal_text import print_parts

    summary_table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for row in summary.format_rows():
        summary_table.add_row(*map(make_one_line, row))
    print_parts([summary_table, *map(make_one_line, summary.format_problems())], sys.stderr)


class _FitOptions(Limits, LogOptions):
    """The options of `fit`."""


@take_options(_FitOptions)
def fit(
    files: ResponseFiles,
    output: EstimatorFile,
    labels: Labels = [],
    judged: Judged = [],
    estimator: Name = "recommended",
    domain: Domain = None,
    group: Group = None,
    cluster: Cluster = None,
    page: ValidationPage = None,
    json: Json = False,
    verbose: Verbose = False,
    **options: Any,
) -> None:
    """Fit an estimator on labelled responses and save it.

    `fit` uses the responses in FILES that have a label, from --labels or from the score of an evaluation. `estimate`
    and `monitor` read the file that it writes. The validation shows how far to trust the estimator: each labelled
    domain is held out in turn and estimated by an estimator fitted on the others. With --group it also holds out each
    whole group, which shows two things: what to expect of a new slice of the labelled groups, and of anything
    else. With --verbose it prints every reason for the verdicts.

    With --judged, the validation also uses the verdicts of judges, which the labels correct. A domain then counts with
    5 labels instead of 20, if 20 of its responses have a verdict. The estimator is fitted on the labels only.
    """
    from entropy_sentinel.api.estimation import fit, save
    from entropy_sentinel.api.input_checks import resolve_log_files
    from entropy_sentinel.api.label_reading import read_people_labels, resolve_label_files
    from entropy_sentinel.api.one_model import OneModel
    from entropy_sentinel.api.response_reading import coerce_features
    from entropy_sentinel.api.witness_reading import read_witnesses
    from entropy_sentinel.core.whole_files import check_outputs
    from entropy_sentinel.estimators.estimator_registry import extra_signals
    from entropy_sentinel.estimators.fit_metadata import count_validations
    from entropy_sentinel.estimators.leave_one_out import __name__ as validating
    from entropy_sentinel.logs.label_table import LABEL_QUESTION
    from entropy_sentinel.logs.reader_base import QUESTION, REQUEST
    from entropy_sentinel.monitor.showing.validation_page import write_validation

    inputs = [*resolve_log_files(files), *resolve_label_files(labels), *(resolve_label_files(judged) if judged else [])]
    check_outputs({"--output": output, "--page": page}, inputs)
    limits = {name: options.pop(name) for name in Limits.model_fields}
    people_labels = read_people_labels(labels, options["scorer"]) if labels else None
    # The request tells which responses are dependent; labels with a question may be joined by it.
    extra_columns = [REQUEST]
    if people_labels is not None and LABEL_QUESTION in people_labels.columns:
        extra_columns.append(QUESTION)
    with announce_work("reading the logs"):
        # OneModel refuses labelled responses of a second model while the logs are still read.
        features = coerce_features(
            files, extra_signals(estimator), OneModel(people_labels), further=extra_columns, **options
        )
    witnesses = read_witnesses(judged, options["scorer"], people_labels) if judged else None
    columns: dict[str, Any] = {"domain": domain, "group": group, "cluster": cluster}
    with announce_work("fitting, and validating on each labelled domain"), show_progress("validating", validating):
        fitted = fit(features, people_labels, estimator, judged=witnesses, **columns, **limits)
    n_validations = count_validations(fitted.metadata, _read_replaced(output))
    fitted = replace(fitted, metadata=fitted.metadata.model_copy(update={"n_validations": n_validations}))
    save(fitted, output)
    if page is not None:
        write_validation(fitted, page)
    if json:
        print_json(fitted.metadata.to_dict())
    else:
        _print_fit(fitted, output, n_validations, verbose)


def _print_fit(fitted: "FittedEstimator", output: Path, n_validations: int, verbose: bool) -> None:
    """Print what was fitted and saved to `output`, and its validation, the `n_validations`-th of these labels."""
    from entropy_sentinel.estimators.familiarity import NO_WORDS
    from entropy_sentinel.formatting.text_format import format_number

    metadata = fitted.metadata
    print_line(f"{output}: {_describe_training(metadata)}")
    for answer in fitted.validation.answers if fitted.validation else ():
        print_verdict(answer.verdict, answer.scope)
    chosen = metadata.chosen or {}
    if "method" in chosen:
        print_line(f"method: {chosen['method']} ({chosen['reason']})")
        if errors := chosen.get("leave_one_out_aee"):
            print_line("mean errors: " + ", ".join(f"{name} {format_number(error)}" for name, error in errors.items()))
    if metadata.caution:
        print_line(f"caution: {metadata.caution}")
    if fitted.validation:
        _show_validation(fitted.validation, verbose)
        if n_validations > 1:
            print_line(
                f"validation {n_validations} of these labels: the confidence of a verdict is that of the first; after "
                "several, `usable` is reached more easily by luck (docs/verdicts.md, looking again)"
            )
    # NO_WORDS: without the words of the training responses, it is unknown whether a slice is like them.
    for line in [NO_WORDS] if metadata.familiarity is None else metadata.familiarity.lines():
        print_line(line)


def _read_replaced(output: Path) -> "FitMetadata | None":
    """The metadata of the estimator's file that `fit` is about to replace; None without a readable one."""
    from entropy_sentinel.core.errors import EntropySentinelError
    from entropy_sentinel.estimators.estimator_file import load_estimator

    try:
        return load_estimator(output).metadata if output.is_file() else None
    except EntropySentinelError:
        return None


def _describe_training(metadata: "FitMetadata") -> str:
    """A sentence about the responses that an estimator was fitted on."""
    from entropy_sentinel.formatting.text_format import format_number

    names = metadata.domains
    # The validation lists all domains.
    domains = ", ".join(names) if 0 < len(names) <= 3 else f"{len(names)} domains"
    return (
        f"{metadata.name}, fitted on {metadata.n_training_rows:,} responses of {metadata.model} to {domains}; "
        f"{format_number(metadata.training_accuracy)} of them are correct"
    )


# Reasons for a verdict that are printed without --verbose: the first ones, and what it would take.
_MOST_REASONS = 3


def _show_validation(validation: "Validation", verbose: bool) -> None:
    """Print the estimate of each domain without its own labels, and the verdicts."""
    from entropy_sentinel.estimators.witness_validation import summary_lines
    from entropy_sentinel.rendering.terminal_text import format_terminal_table, print_parts

    if validation.domains:
        typer.echo("\nValidation (each domain estimated by an estimator fitted on the others):")
        print_parts([format_terminal_table(*validation.table())])
    for answer in validation.answers:
        print_line(f"verdict{answer.scope}: {answer.verdict}")
        for place, line in enumerate(answer.lines()):
            if verbose or place < _MOST_REASONS or line == answer.summary.needed:
                print_line(f"  {line}")
    for line in summary_lines(validation.witnesses):
        print_line(line)
    if not verbose:
        print_line("--verbose prints every reason")
    calibration = validation.calibration
    if calibration:
        print_line(
            f"P(correct) of single responses, on held-out domains: Brier score {calibration.brier:.3f}, mean "
            f"calibration error {calibration.ece:.3f} ({calibration.n:,} responses)"
        )
