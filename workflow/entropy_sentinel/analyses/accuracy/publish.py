"""From the study's files to its tables, figures and report: reading and writing; the content is made elsewhere."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.figures import draw_figure, write_figure
from entropy_sentinel.analyses.accuracy.frames import AUROC, DOMAINS, SWEEP
from entropy_sentinel.analyses.accuracy.report import render_report
from entropy_sentinel.analyses.accuracy.summary import summarise
from entropy_sentinel.analyses.accuracy.tables import make_table
from entropy_sentinel.estimators.settings import group_id
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.estimate import ESTIMATES
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.observation import OBSERVATIONS
from entropy_sentinel.report.tables import write_table


def publish(
    files: Mapping[str, Any], settings: Mapping[str, Any], tables: Sequence[int], figures: Sequence[int], folder: str
) -> None:
    """Write tables, figures, report and summary to `folder`; the report comes last.

    `files` has the paths `sweep`, `auroc`, `domains`, `observations` (of `settings["figure_model"]`); lists by model
    `headline` (estimates of the headline group, in the order of `settings["models"]`); lists `generations` and
    `benchmarks`, whose provenance is shown. `settings` is the config's section `presentation` with `models`,
    `benchmarks`, `groups` (name to settings), `default` and `expected_items` (published counts by benchmark).
    """
    out = Path(folder)
    sweep, domains = SWEEP.read(files["sweep"]), DOMAINS.read(files["domains"])
    groups, headline = settings["groups"], settings["headline_group"]
    estimates = _estimates(files["headline"], settings["models"], group_id(groups[headline]["benchmarks"]))
    observations = OBSERVATIONS.read(files["observations"])
    inputs = settings | {
        "sweep": sweep,
        "auroc": AUROC.read(files["auroc"]),
        "domains": domains,
        "estimates": estimates,
        "observations": observations,
    }
    made = {number: make_table(number, inputs, settings["label"]) for number in tables}
    for number, table in made.items():
        write_table(table, out / "tables" / f"table_{number}")
    for number in figures:
        write_figure(draw_figure(number, inputs, settings["label"]), out / "figures" / f"figure_{number}")
    (out / "summary.txt").write_text(summarise(estimates, sweep, groups, headline), encoding="utf-8")
    page = render_report(
        label=settings["label"],
        estimates=estimates,
        sweep=sweep,
        domains=domains,
        groups=groups,
        headline_group=headline,
        generations=[read_provenance(path) for path in files["generations"]],
        benchmarks=[read_provenance(path) for path in files["benchmarks"]],
        expected_items=settings["expected_items"],
        tables=made,
        figures={number: out / "figures" / f"figure_{number}.png" for number in figures},
        files=[files["sweep"], files["auroc"], files["domains"], f"{out}/tables", f"{out}/figures"],
    )
    with whole_file(out / "report.html") as partial:
        partial.write_text(page, encoding="utf-8")


def _estimates(paths: Sequence[str], models: Sequence[str], group: str) -> pl.DataFrame:
    """The headline group's estimates of all models, with columns model and group."""
    return pl.concat(
        ESTIMATES.read(path).with_columns(model=pl.lit(model), group=pl.lit(group))
        for path, model in zip(paths, models, strict=True)
    )
