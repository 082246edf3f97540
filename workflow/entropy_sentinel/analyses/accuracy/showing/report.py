"""The report of a study: one HTML page with everything in it, for a browser, a telephone and paper."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.frames import DOMAINS, SWEEP
from entropy_sentinel.analyses.accuracy.showing.advice import Advice, advise
from entropy_sentinel.analyses.accuracy.showing.failures import NO_REFERENCE, SHARE, failures, gaps
from entropy_sentinel.analyses.accuracy.showing.headline import Headline, headlines
from entropy_sentinel.analyses.accuracy.showing.machine_summary import machine_summary
from entropy_sentinel.analyses.accuracy.showing.summary import interval, summarise
from entropy_sentinel.analyses.accuracy.showing.summary import labels as label_count
from entropy_sentinel.analyses.accuracy.showing.unjudged import Unjudged, unjudged
from entropy_sentinel.analyses.accuracy.showing.verdicts import LEVEL, Trust, read_trust
from entropy_sentinel.analyses.headings import SCOPES, Groups, TrainingGroup, training_group
from entropy_sentinel.analyses.inputs import read_estimates
from entropy_sentinel.estimators.catalogue import title
from entropy_sentinel.estimators.verdict import CONFIDENCE, USABLE_ERROR
from entropy_sentinel.features.catalogue import OPEN_MASS
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.numbers import number
from entropy_sentinel.report.origins import Provenance, miscounts, origins
from entropy_sentinel.report.pages import read_fragment, render
from entropy_sentinel.statistics.errors import FEWEST_FOR_RHO
from entropy_sentinel.statistics.intervals import NOTES

TEMPLATE = Path(__file__).with_name("report.html.j2")
# The figure that stands at the top.
PICTURE = Exhibit("figure", "left_out", "").file
# The tables that have all numbers of the page's top.
NUMBERS = {"domains": Exhibit("table", "left_out", "").file, "methods": Exhibit("table", "methods", "").file}


def write_report(files: Mapping[str, Any], settings: Mapping[str, Any], page: str, summary: str, machine: str) -> None:
    """Write the page, the summary, and the summary for programs, `machine`.

    `files` has the paths `sweep` and `domains`; lists `estimates`, those of all models for the headline group, and
    `validation`, those of all models; lists `generations`, `benchmarks` and `labels`, whose provenance is shown; lists
    `tables` and `figures` of exhibits' .html files.
    `settings` has `label`, `groups`, `headline_group`, `default`, `expected_items`, the published counts by benchmark,
    and `pages`, links to those of other analyses (`config.study.pages`).
    """
    study = Study(
        estimates=read_estimates(files["estimates"]),
        sweep=SWEEP.read(files["sweep"]),
        domains=DOMAINS.read(files["domains"]),
        trusts=read_trust(files["validation"]),
        groups=settings["groups"],
        headline_group=settings["headline_group"],
        unjudged=unjudged(files["labels"], files["benchmarks"]),
    )
    content = render_report(
        study,
        **{key: value for key, value in settings.items() if key not in ("groups", "headline_group")},
        generations=[read_provenance(path) for path in files["generations"]],
        benchmarks=[read_provenance(path) for path in files["benchmarks"]],
        labels=[read_provenance(path) for path in files["labels"]],
        tables=files["tables"],
        figures=files["figures"],
    )
    told = json.dumps(study.machine_summary(settings["label"], settings["default"]), indent=1) + "\n"
    text = summarise(study.trusts, study.estimates, study.sweep, study.groups, study.headline_group, study.unjudged)
    for path, what in ((page, content), (machine, told), (summary, text)):
        with whole_file(path) as partial:
            partial.write_text(what, encoding="utf-8")


@dataclass(frozen=True)
class Study:
    """What the page and the summaries tell of: frames of these contracts, and one `Trust` per model."""

    estimates: pl.DataFrame
    sweep: pl.DataFrame
    domains: pl.DataFrame
    trusts: Sequence[Trust]
    groups: Groups
    headline_group: str
    unjudged: Sequence[Unjudged] = ()

    @cached_property
    def group(self) -> TrainingGroup:
        """The headline group."""
        return training_group(self.groups, self.headline_group)

    @cached_property
    def headlines(self) -> list[Headline]:
        """What the headline group says, by model."""
        return headlines(self.estimates, self.sweep, self.group)

    @cached_property
    def advice(self) -> list[Advice]:
        """On training domains, by model."""
        return advise(self.domains, self.trusts, self.group)

    @cached_property
    def failures(self) -> list[str]:
        """What has no result, in sentences."""
        return [*(one.text for one in self.unjudged), *failures(self.sweep, self.trusts)]

    def machine_summary(self, label: str, default: str) -> dict[str, Any]:
        """The summary for programs."""
        missing = self.failures, gaps(self.domains)
        return machine_summary(label, self.trusts, self.headlines, self.group, default, self.advice, *missing)


def render_report(
    study: Study,
    label: str,
    default: str,
    generations: Provenance,
    benchmarks: Provenance,
    labels: Provenance,
    expected_items: Mapping[str, int | None],
    pages: Mapping[str, Mapping[str, str]],
    tables: Sequence[str | Path],
    figures: Sequence[str | Path],
) -> str:
    """The report as HTML, the same for the same arguments.

    `generations` has a provenance dict per (model, benchmark), as has `labels`; `benchmarks` one per benchmark,
    `expected_items` the published counts. `tables` and `figures` are the .html files of exhibits, in the order shown.
    `pages` are links to those of other analyses, by what they tell and by model, or under "" where there is one.
    """
    found, trusts = study.headlines, study.trusts
    return render(
        TEMPLATE,
        title="Accuracy estimated from entropy",
        label=label,
        trusts=trusts,
        level=f"{LEVEL:.0%}",
        confidence=f"{CONFIDENCE:.0%}",
        usable=f"{USABLE_ERROR:.2f}",
        unlabelled=any(trust.unlabelled for trust in trusts),
        interval=interval,
        bases=interval_notes(trusts),
        pictures=[read_fragment(path) for path in figures if Path(path).stem == PICTURE],
        numbers={what: table for what, table in NUMBERS.items() if table in {Path(path).stem for path in tables}},
        default=default,
        default_title=title(default),
        fewest_for_rho=FEWEST_FOR_RHO,
        advice=study.advice,
        failures=study.failures,
        unjudged=dict.fromkeys(one.benchmark for one in study.unjudged),
        gaps=gaps(study.domains),
        share=f"{SHARE:.0%}",
        pages=pages,
        group=study.group,
        headlines=found,
        verdicts={headline.model: verdict(headline) for headline in found},
        comparison=comparison(found),
        label_count=label_count,
        judges=asked_judges(labels),
        savings=savings(labels),
        scopes=SCOPES,
        models=origins(generations, "model"),
        benchmarks=origins(benchmarks, "benchmark"),
        miscounts=miscounts(benchmarks, expected_items),
        counts=_counts(study.domains),
        open_mass=OPEN_MASS,
        tables=[read_fragment(path) for path in tables],
        figures=[read_fragment(path) for path in figures if Path(path).stem != PICTURE],
    )


def interval_notes(trusts: Sequence[Trust]) -> list[str]:
    """What the intervals of domains without labels rest on, a sentence for each kind that there is."""
    bases = {one.basis for trust in trusts for one in trust.unlabelled}
    return [text for basis, text in NOTES.items() if basis in bases]


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
        nothing = "no references" if reasons.get(NO_REFERENCE) == row["n_responses"] else "no labels"
        rows.append(
            row
            | {
                "cut_off": row["n_truncated"] / row["n_responses"] if row["n_responses"] else None,
                "reasons": "; ".join(f"{reason}: {count}" for reason, count in reasons.items()) or "-",
                "unlabelled": None if row["n_correct"] + row["n_incorrect"] else nothing,
            }
        )
    return rows
