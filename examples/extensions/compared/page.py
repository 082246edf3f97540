"""The page of this analysis, and its table."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from compared.pairing import paired_difference
from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.rendering.html_pages import Exhibit, render
from entropy_sentinel.rendering.table_exhibit import Table, number_frame, write_table
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.label_schema import LABELS

EXHIBIT = Exhibit("table", "compared", "Two models on the same items")
_ROLES = {"training": "training", "held_out": "unseen"}


def write_page(
    labels: Sequence[str],
    estimates: Sequence[str],
    models: Sequence[str],
    benchmarks: Sequence[str],
    estimator: str,
    label: str,
    page: str,
) -> None:
    """Write the table and the page.

    `labels` are the files of the first model by benchmark, then those of the second; `estimates` has a file for each
    model.
    """
    estimated = pl.concat([ESTIMATES.read(path) for path in estimates]).filter(estimator=estimator)
    of_file = dict(zip(product(models, benchmarks), labels, strict=True))
    labelled = {key: LABELS.read(path, ["item_id", "label"]) for key, path in of_file.items()}
    table = compared(labelled, estimated, models, benchmarks, estimator_title(estimator))
    write_table(EXHIBIT, table, Path(page).parent / EXHIBIT.folder)
    template = Path(__file__).with_name("compared.html.j2")
    named = {"title": f"{models[0]} and {models[1]}", "label": label, "exhibit": EXHIBIT, "table": table}
    write_whole(page, render(template, **named))


def compared(
    labels: dict[tuple[str, str], pl.DataFrame],
    estimates: pl.DataFrame,
    models: Sequence[str],
    benchmarks: Sequence[str],
    estimator: str,
) -> Table:
    """A table with a row for each benchmark; `labels` are by model and benchmark."""
    first, second = models
    numbers = ["Items", first, second, "Difference", "from", "to"]
    numbers += [f"Estimated, {first}", f"Estimated, {second}", "Estimated difference"]
    keys = ["Domain", "Role"]
    rows = [
        dict(zip([*keys, *numbers], row, strict=True)) for row in _rows(labels, estimates, first, second, benchmarks)
    ]
    return Table(
        f"True accuracies of {first} and {second} on the items that both have answered, and estimates by {estimator}.",
        number_frame(rows, keys, numbers),
        (
            "Items: those with a label of both models. Difference: the first model minus the second, with its 95 % "
            "confidence interval over the differences of the items; none if all of them are equal.",
            "Estimated: over all responses with features, in training domains over those of the test split.",
        ),
    )


def _rows(
    labels: dict[tuple[str, str], pl.DataFrame],
    estimates: pl.DataFrame,
    first: str,
    second: str,
    benchmarks: Sequence[str],
) -> Iterator[tuple[Any, ...]]:
    known: dict[tuple[str, str], Any] = {(row["model"], row["benchmark"]): row for row in estimates.to_dicts()}
    nothing = {"estimated_accuracy": None, "role": None}
    for benchmark in benchmarks:
        true = paired_difference(labels[first, benchmark], labels[second, benchmark])
        one, other = (known.get((model, benchmark), nothing) for model in (first, second))
        values = one["estimated_accuracy"], other["estimated_accuracy"]
        difference = None if None in values else values[0] - values[1]
        yield benchmark, _ROLES.get(one["role"]), *true, *values, difference
