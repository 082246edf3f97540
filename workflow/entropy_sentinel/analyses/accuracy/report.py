"""The report of a study: one HTML page with everything in it, for a browser, a telephone and paper."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.frames import DOMAINS, SWEEP
from entropy_sentinel.analyses.accuracy.headline import Headline, headlines, unstated
from entropy_sentinel.analyses.accuracy.summary import labels as label_count
from entropy_sentinel.analyses.accuracy.summary import summarise
from entropy_sentinel.analyses.headings import SCOPES, Groups, training_group
from entropy_sentinel.analyses.inputs import read_estimates
from entropy_sentinel.features.catalogue import OPEN_MASS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.report.numbers import number
from entropy_sentinel.report.origins import Provenance, miscounts, origins
from entropy_sentinel.report.pages import read_fragment, render

TEMPLATE = Path(__file__).with_name("report.html.j2")
# What stages/label.py gives as the reason of a response to an item without a reference.
_NO_REFERENCE = "no reference"


def write_report(files: Mapping[str, Any], settings: Mapping[str, Any], page: str, summary: str) -> None:
    """Write the page and the summary.

    `files` has the paths `sweep` and `domains`; a list `estimates`, those of all models for the headline group; lists
    `generations`, `benchmarks` and `labels`, whose provenance is shown; lists `tables` and `figures` of exhibits' .html
    files.
    `settings` has `label`, `groups`, `headline_group`, `expected_items`, the published counts by
    benchmark, and `response_pages`, links by model.
    """
    estimates, sweep = read_estimates(files["estimates"]), SWEEP.read(files["sweep"])
    text = summarise(estimates, sweep, settings["groups"], settings["headline_group"])
    Path(summary).write_text(text, encoding="utf-8")
    content = render_report(
        **settings,
        estimates=estimates,
        sweep=sweep,
        domains=DOMAINS.read(files["domains"]),
        generations=[read_provenance(path) for path in files["generations"]],
        benchmarks=[read_provenance(path) for path in files["benchmarks"]],
        labels=[read_provenance(path) for path in files["labels"]],
        tables=files["tables"],
        figures=files["figures"],
    )
    with whole_file(page) as partial:
        partial.write_text(content, encoding="utf-8")


def render_report(
    label: str,
    estimates: pl.DataFrame,
    sweep: pl.DataFrame,
    domains: pl.DataFrame,
    groups: Groups,
    headline_group: str,
    generations: Provenance,
    benchmarks: Provenance,
    labels: Provenance,
    expected_items: Mapping[str, int | None],
    response_pages: Mapping[str, str],
    tables: Sequence[str | Path],
    figures: Sequence[str | Path],
) -> str:
    """The report as HTML, the same for the same arguments.

    `estimates`, `sweep` and `domains` are frames of these contracts. `generations` has a provenance dict per (model,
    benchmark), as has `labels`; `benchmarks` one per benchmark, `expected_items` the published counts. `tables` and
    `figures` are the .html files of exhibits, in the order shown. `response_pages` are links to pages of
    single responses by model.
    """
    group = training_group(groups, headline_group)
    found = headlines(estimates, sweep, group)
    return render(
        TEMPLATE,
        title="Accuracy estimated from entropy",
        label=label,
        group=group,
        headlines=found,
        unlabelled=any(headline.unlabelled for headline in found),
        unstated=unstated(found),
        verdicts={headline.model: verdict(headline) for headline in found},
        comparison=comparison(found),
        label_count=label_count,
        judges=asked_judges(labels),
        savings=savings(labels),
        scopes=SCOPES,
        models=origins(generations, "model"),
        benchmarks=origins(benchmarks, "benchmark"),
        miscounts=miscounts(benchmarks, expected_items),
        response_pages=response_pages,
        counts=_counts(domains),
        open_mass=OPEN_MASS,
        tables=[read_fragment(path) for path in tables],
        figures=[read_fragment(path) for path in figures],
    )


def verdict(headline: Headline) -> str:
    """One sentence: whether a simple estimator does better than the group's own."""
    if headline.simple is None:
        return "No simple estimator was run."
    simple = headline.simple_scores["held_out"]
    scored = f"{headline.simple} (AEE {number(simple.aee)}, rho {simple.rho_text})"
    match headline.simple_is_better:
        case None:
            return f"The estimator has no AEE to compare with the best simple one, {scored}."
        case True:
            return f"A simple estimator does better here: {scored}."
        case False:
            return f"No simple estimator does better; the best is {scored}."


def comparison(found: Sequence[Headline]) -> str:
    """One sentence: for how many models a simple estimator does better than the group's own."""
    compared = [headline.simple_is_better for headline in found if headline.simple_is_better is not None]
    if not compared:
        return "The estimator was not compared with simple ones."
    return (
        f"For {sum(compared)} of {len(compared)} models the best simple estimator is closer to the true accuracies "
        "than this one."
    )


def asked_judges(labels: Provenance) -> list[dict[str, Any]]:
    """What each judge that a judge is made of was asked about and labelled, per model and benchmark."""
    return [
        {"model": entry["model"], "benchmark": entry["benchmark"], "judge": judge, **counts}
        for entry in labels
        for judge, counts in entry.get("counts", {}).items()
    ]


def savings(labels: Provenance) -> list[str]:
    """One sentence for each judge that was asked about a part of the responses only, which is what saves money."""
    asked, every = Counter[str](), Counter[str]()
    for entry in labels:
        most = max((counts["asked"] for counts in entry.get("counts", {}).values()), default=0)
        for judge, counts in entry.get("counts", {}).items():
            asked[judge] += counts["asked"]
            every[judge] += most
    return [
        f"{judge} was asked about {asked[judge]} of {count} responses ({1 - asked[judge] / count:.1%} saved)."
        for judge, count in every.items()
        if asked[judge] < count
    ]


def _counts(domains: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of DOMAINS with `cut_off` (share of responses that are), reasons as text, and `unlabelled`.

    `unlabelled` says in words, in the place of counts, that a domain has no label at all; null where it has some.
    """
    rows = []
    for row in domains.iter_rows(named=True):
        reasons = json.loads(row["reasons"])
        nothing = "no references" if reasons.get(_NO_REFERENCE) == row["n_responses"] else "no labels"
        rows.append(
            row
            | {
                "cut_off": row["n_truncated"] / row["n_responses"] if row["n_responses"] else None,
                "reasons": "; ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "-",
                "unlabelled": None if row["n_correct"] + row["n_incorrect"] else nothing,
            }
        )
    return rows
