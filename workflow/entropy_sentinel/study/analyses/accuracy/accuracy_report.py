"""The report of a study: one self-contained HTML page for desktop, phone and print."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.estimators.estimator_registry import estimator_title
from entropy_sentinel.estimators.verdict_limits import CONFIDENCE, FAR_OFF, USABLE_ERROR, USABLE_SHARE
from entropy_sentinel.features.feature_registry import OPEN_MASS
from entropy_sentinel.rendering.html_pages import Exhibit, read_fragment, render
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.estimate_schema import ESTIMATES
from entropy_sentinel.schemas.file_sets import read_all
from entropy_sentinel.schemas.label_schema import NO_REFERENCE
from entropy_sentinel.statistics.estimate_errors import FEWEST_FOR_RHO
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import TABLES
from entropy_sentinel.study.analyses.accuracy.closing_summary import (
    UnjudgedBenchmark,
    find_unjudged,
    format_estimate,
    format_interval,
    write_summary,
)
from entropy_sentinel.study.analyses.accuracy.closing_summary import format_label_count as label_count
from entropy_sentinel.study.analyses.accuracy.headline import (
    Headline,
    build_headlines,
    describe_comparison,
    warn_ambiguous,
)
from entropy_sentinel.study.analyses.accuracy.machine_summary import build_machine_summary
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import DOMAINS, SWEEP, AccuracyFiles
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import (
    LEVEL,
    ModelValidation,
    list_interval_notes,
    read_validations,
)
from entropy_sentinel.study.analyses.accuracy.provenance import Provenance, collect_origins, describe_miscounts
from entropy_sentinel.study.analyses.accuracy.study_advice import (
    SHARE,
    Advice,
    describe_failures,
    find_gaps,
    format_reasons,
    write_advice,
)
from entropy_sentinel.study.analyses.accuracy.unanswered_share import (
    UnansweredDomain,
    list_unanswered_domains,
    summarise_unanswered,
)
from entropy_sentinel.study.analyses.display_names import (
    SCOPES,
    ExhibitSettings,
    Groups,
    TrainingGroup,
    find_training_group,
)


def list_domain_counts(domains: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows of DOMAINS with `cut_off` (the share of truncated responses), reasons as text, and `unlabelled`.

    `unlabelled` is text that replaces the counts of a domain without any label, null for other domains.
    """
    rows = []
    for row in domains.iter_rows(named=True):
        reasons = json.loads(row["reasons"])
        unlabelled = None
        has_labels = row["n_correct"] + row["n_incorrect"] > 0
        if not has_labels:
            unlabelled = "no references" if reasons.get(NO_REFERENCE) == row["n_responses"] else "no labels"
        cut_off = row["n_truncated"] / row["n_responses"] if row["n_responses"] else None
        rows.append(row | {"cut_off": cut_off, "reasons": format_reasons(reasons), "unlabelled": unlabelled})
    return rows


def list_asked_judges(labels: Provenance) -> list[dict[str, Any]]:
    """Per model, benchmark and member of a combined judge: the counts of responses `asked`, `labelled` and `decided`.

    `labels` are the provenances of files LABELS; only those of a combined judge have `counts`.
    """
    rows = []
    for entry in labels:
        for judge, counts in entry.get("counts", {}).items():
            rows.append({"model": entry["model"], "benchmark": entry["benchmark"], "judge": judge, **counts})
    return rows


def describe_savings(labels: Provenance) -> list[str]:
    """One sentence for each member of a combined judge that was asked about only some responses, which saves money.

    `labels` are the provenances of files LABELS.
    """
    # By member.
    n_asked = Counter[str]()
    n_responses = Counter[str]()
    for entry in labels:
        asked = {judge: counts["asked"] for judge, counts in entry.get("counts", {}).items()}
        n_asked.update(asked)
        # The member that is asked first is asked about all responses of the file.
        n_responses.update(dict.fromkeys(asked, max(asked.values(), default=0)))
    lines = []
    for judge, n in n_responses.items():
        if n_asked[judge] < n:
            saved = 1 - n_asked[judge] / n
            lines.append(f"{judge} was asked about {n_asked[judge]} of {n} responses ({saved:.1%} saved).")
    return lines


@dataclass(frozen=True)
class Study:
    """The content of page and summaries: frames ESTIMATES, SWEEP and DOMAINS, and one `ModelValidation` per model.

    `headline_group` names the training group in `groups` whose results the page and the summaries show.
    """

    estimates: pl.DataFrame
    sweep: pl.DataFrame
    domains: pl.DataFrame
    validations: Sequence[ModelValidation]
    groups: Groups
    headline_group: str
    unjudged: Sequence[UnjudgedBenchmark] = ()

    @cached_property
    def group(self) -> TrainingGroup:
        """The headline group: its title, id and estimator."""
        return find_training_group(self.groups, self.headline_group)

    @cached_property
    def headlines(self) -> list[Headline]:
        """The headline group's results, an element for each model."""
        return build_headlines(self.estimates, self.sweep, self.group)

    @cached_property
    def advice(self) -> list[Advice]:
        """Which training domains are too easy or too hard, and which one to add, by model."""
        return write_advice(self.domains, self.validations, self.group)

    @cached_property
    def ambiguous(self) -> list[str]:
        """Sentences about domains whose estimates cannot be trusted if their questions have several right answers."""
        return list(warn_ambiguous(self.domains))

    @cached_property
    def unanswered_domains(self) -> list[UnansweredDomain]:
        """The domains with responses without a final answer."""
        return list(list_unanswered_domains(self.domains))

    @cached_property
    def failures(self) -> list[str]:
        """Sentences about missing results."""
        return [*(gap.text for gap in self.unjudged), *describe_failures(self.sweep, self.validations)]

    def machine_summary(self, label: str, default: str) -> dict[str, Any]:
        """The summary for programs; `label` is the study's, `default` the name of the paper's default estimator."""
        return build_machine_summary(
            label,
            self.validations,
            self.headlines,
            self.group,
            default,
            advice=self.advice,
            ambiguous=self.ambiguous,
            failures=self.failures,
            gaps=find_gaps(self.domains),
            unanswered=self.unanswered_domains,
        )


def _explain_numbering(names: set[str]) -> str | None:
    """Why the numbers of the study's tables have gaps; None if they have no gap, or no table has a number.

    `names` are the stems of the tables' files.
    """
    has_numbers = False
    absent = []
    for name, declaration in TABLES.items():
        number = name.split("_")[0]
        if Exhibit("table", name, declaration.title).file in names:
            has_numbers = has_numbers or number.isdigit()
        elif number.isdigit():
            absent.append(f"{number} ({declaration.title})")
    if not has_numbers or not absent:
        return None
    return f"Tables have the paper's numbers. This study has nothing for {', '.join(absent)}."


TEMPLATE = Path(__file__).with_name("report.html.j2")
# The figure at the top.
PICTURE = Exhibit("figure", "validation", "").file
# The tables with all numbers shown at the top of the page.
NUMBERS = {"domains": Exhibit("table", "validation", "").file, "methods": Exhibit("table", "methods", "").file}


class AccuracyReportFiles(AccuracyFiles):
    """Files of the page; `estimates` are those of the headline group, `tables` and `figures` exhibits' .html files.

    The provenance of `generations`, `benchmarks` and `labels` is shown.
    """

    generations: Sequence[str]
    benchmarks: Sequence[str]
    labels: Sequence[str]
    tables: Sequence[str]
    figures: Sequence[str]


class AccuracyReportSettings(ExhibitSettings):
    """Settings of the page: the published counts by benchmark, and links to other pages.

    `pages` are those of `study.config.group_estimates.link_pages`.
    """

    default: str
    expected_items: Mapping[str, int | None]
    pages: Mapping[str, Mapping[str, str]]


def write_report(
    files: AccuracyReportFiles, settings: AccuracyReportSettings, page: str, summary: str, machine: str
) -> None:
    """Write the HTML page, the text `summary` for the terminal, and the JSON summary for programs, `machine`."""
    study = Study(
        estimates=read_all(ESTIMATES, files["estimates"]),
        sweep=SWEEP.read(files["sweep"]),
        domains=DOMAINS.read(files["domains"]),
        validations=read_validations(files["validation"]),
        groups=settings["groups"],
        headline_group=settings["headline_group"],
        unjudged=find_unjudged(files["labels"]),
    )
    content = render_report(
        study,
        label=settings["label"],
        default=settings["default"],
        expected_items=settings["expected_items"],
        pages=settings["pages"],
        generations=[read_provenance(path) for path in files["generations"]],
        benchmarks=[read_provenance(path) for path in files["benchmarks"]],
        labels=[read_provenance(path) for path in files["labels"]],
        tables=files["tables"],
        figures=files["figures"],
    )
    text = write_summary(
        study.validations,
        study.estimates,
        study.sweep,
        study.groups,
        study.headline_group,
        study.unjudged,
        study.ambiguous,
        summarise_unanswered(study.unanswered_domains),
    )
    facts = study.machine_summary(settings["label"], settings["default"])
    write_whole(page, content)
    write_whole(machine, json.dumps(facts, indent=1) + "\n")
    write_whole(summary, text)


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

    `generations` and `labels` have a provenance dict per (model, benchmark), `benchmarks` one per benchmark, and
    `expected_items` the published counts. `tables` and `figures` are the .html files of exhibits, in the order shown.
    `pages` are links to the pages of other analyses, by topic and by model, or under "" if there is only one.
    """
    return render(
        TEMPLATE,
        title="Accuracy estimated from entropy",
        label=label,
        default=default,
        pages=pages,
        **_collect_results(study, default),
        failures=study.failures,
        unjudged=dict.fromkeys(gap.benchmark for gap in study.unjudged),
        gaps=find_gaps(study.domains),
        unanswered=study.unanswered_domains,
        unanswered_lines=summarise_unanswered(study.unanswered_domains),
        share=f"{SHARE:.0%}",
        **_load_exhibits(tables, figures),
        judges=list_asked_judges(labels),
        savings=describe_savings(labels),
        models=collect_origins(generations, "model"),
        benchmarks=collect_origins(benchmarks, "benchmark"),
        miscounts=describe_miscounts(benchmarks, expected_items),
        counts=list_domain_counts(study.domains),
        open_mass=OPEN_MASS,
    )


def _collect_results(study: Study, default: str) -> dict[str, Any]:
    """The template's variables: how far the recommended estimator can be trusted, and the headline group's results."""
    return {
        "validations": study.validations,
        "new_groups": any(validation.new_groups for validation in study.validations),
        "level": f"{LEVEL:.0%}",
        "confidence": f"{CONFIDENCE:.0%}",
        "usable": f"{USABLE_ERROR:.2f}",
        "far_off": f"{FAR_OFF:.2f}",
        "usable_share": f"{USABLE_SHARE:.0%}",
        "unlabelled": any(validation.unlabelled for validation in study.validations),
        "interval": format_interval,
        "estimate": format_estimate,
        "bases": list_interval_notes(study.validations),
        "default_title": estimator_title(default),
        "fewest_for_rho": FEWEST_FOR_RHO,
        "ambiguous": study.ambiguous,
        "advice": study.advice,
        "group": study.group,
        "headlines": study.headlines,
        "comparison": describe_comparison(study.headlines),
        "label_count": label_count,
        "scopes": SCOPES,
    }


def _load_exhibits(tables: Sequence[str | Path], figures: Sequence[str | Path]) -> dict[str, Any]:
    """The template's variables: figure at the top, the names of tables with its numbers, and all other exhibits.

    `tables` and `figures` are paths of .html fragments.
    """
    names = {Path(path).stem for path in tables}
    return {
        "pictures": [read_fragment(path) for path in figures if Path(path).stem == PICTURE],
        "numbers": {name: table for name, table in NUMBERS.items() if table in names},
        "numbering": _explain_numbering(names),
        "tables": [read_fragment(path) for path in tables],
        "figures": [read_fragment(path) for path in figures if Path(path).stem != PICTURE],
    }
