"""The report of a study: one HTML page with everything in it, for a browser, a telephone and paper."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from entropy_sentinel.analyses.accuracy.figures import FIGURES
from entropy_sentinel.analyses.accuracy.headings import SCOPES, Groups, group_benchmarks, group_title, id_of
from entropy_sentinel.analyses.accuracy.headline import Headline, headlines
from entropy_sentinel.report.numbers import number
from entropy_sentinel.report.origins import Provenance, miscounts, origins
from entropy_sentinel.report.tables import Table

TEMPLATE = Path(__file__).with_name("report.html.j2")


def render_report(
    label: str,
    estimates: pl.DataFrame,
    sweep: pl.DataFrame,
    domains: pl.DataFrame,
    groups: Groups,
    headline_group: str,
    generations: Provenance,
    benchmarks: Provenance,
    expected_items: Mapping[str, int | None],
    tables: Mapping[int, Table],
    figures: Mapping[int, str | Path],
    files: Sequence[str],
) -> str:
    """The report as HTML, the same for the same arguments.

    `estimates` are frames ESTIMATES with `model` and `group` added, `sweep` and `domains` frames SWEEP and
    DOMAINS. `generations` has a provenance dict per (model, benchmark), `benchmarks` one per benchmark,
    `expected_items` the published counts. `tables` are
    by number, `figures` the PNG files by number, `files` the names of the study's files.
    """
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE.parent),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["number"] = number
    found = headlines(estimates, sweep, groups, headline_group)
    return environment.get_template(TEMPLATE.name).render(
        label=label,
        group_title=group_title(headline_group),
        trained_on=group_benchmarks(id_of(groups, headline_group)),
        estimator=groups[headline_group]["estimator"],
        headlines=found,
        verdicts={headline.model: verdict(headline) for headline in found},
        comparison=comparison(found),
        scopes=SCOPES,
        models=origins(generations, "model"),
        benchmarks=origins(benchmarks, "benchmark"),
        miscounts=miscounts(benchmarks, expected_items),
        counts=_counts(domains),
        tables=[tables[key] for key in sorted(tables)],
        figures=[(key, FIGURES[key].caption, _embedded(figures[key])) for key in sorted(figures)],
        files=files,
    )


def verdict(headline: Headline) -> str:
    """One sentence: whether a baseline on a single feature does better than the estimator."""
    if headline.baseline is None:
        return "No single-feature baseline was run."
    simple = headline.baseline_scores["held_out"]
    scored = f"{headline.baseline} (AEE {number(simple.aee)}, rho {number(simple.rho)})"
    match headline.baseline_is_better:
        case None:
            return f"The estimator has no AEE to compare with the best single-feature baseline, {scored}."
        case True:
            return f"A single feature does better here: {scored}."
        case False:
            return f"No single-feature baseline does better; the best is {scored}."


def comparison(found: Sequence[Headline]) -> str:
    """One sentence: for how many models a baseline on a single feature does better than the estimator."""
    compared = [headline.baseline_is_better for headline in found if headline.baseline_is_better is not None]
    if not compared:
        return "The estimator was not compared with single-feature baselines."
    return (
        f"For {sum(compared)} of {len(compared)} models the best baseline on a single feature is closer to the "
        "true accuracies than this estimator."
    )


def _counts(domains: pl.DataFrame) -> list[dict[str, object]]:
    """The rows of DOMAINS with `cut_off`, the share of responses at the token limit, and the reasons as text."""
    rows = []
    for row in domains.iter_rows(named=True):
        reasons = "; ".join(f"{reason}: {count}" for reason, count in json.loads(row["reasons"]).items())
        cut_off = row["n_truncated"] / row["n_responses"] if row["n_responses"] else None
        rows.append(row | {"cut_off": cut_off, "reasons": reasons or "-"})
    return rows


def _embedded(png: str | Path) -> str:
    """A PNG file as a data URL."""
    return "data:image/png;base64," + base64.b64encode(Path(png).read_bytes()).decode("ascii")
