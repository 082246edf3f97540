"""Write the page's text and tables from cases, with a function for each section."""

import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from entropy_sentinel.estimators.estimator_registry import RECOMMENDED
from entropy_sentinel.estimators.verdict import LEVELS, USABLE
from entropy_sentinel.statistics.estimate_errors import interquartile_range, measure_rho, median_value
from entropy_sentinel.study.analyses.accuracy.counterparts import read_published_values
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import ModelValidation
from made.how_well.cases import CONFIDENCE, DEFAULT, FLOOR, METHODS, chance, compared, mean_over_domains
from made.how_well.fitted import FLAGS
from made.how_well.picture import PICTURE
from made.markdown import table

# An estimate is bad if it is off by more than this.
BAD = 0.10
Cases = pl.DataFrame

_INTRODUCTION = string.Template("""\
# How well does it work?

Answers of $models to $n_items questions of $n_domains published benchmarks, labelled by math-verify
([examples/real](../examples/real/README.md)), and in one section to 23 other kinds of question. Every number is
computed by `make study-real study-kinds how-well`. An *error* is the distance between the estimated and true
accuracy of a domain whose labels the estimator has not seen; AEE is its mean over domains. Limits in brackets are
t-intervals at $confidence over the $n_domains domains, each the mean of its models.

Estimators are fitted on the study's training rows, four fifths of a domain, and evaluated on all rows of domains that
they were not fitted on. Answers that were truncated or cannot be read have no label: *true* and *estimated* refer to
the labelled answers.

The models are small, with four-bit weights and low accuracies ($lowest to $highest). A domain has $least to $most
labels, and $n_domains domains of one subject are few, so the results may differ for another model or subject. The
command `fit` makes the same check on your own labels. [How it works](how.md) has the methods.
""")


def introduction(cases: Cases, items: int) -> str:
    """The introduction: models, questions and labels behind the numbers."""
    one = left_out_once(cases).filter(method=FLOOR)
    return _INTRODUCTION.substitute(
        models=" and ".join(one["model"].unique().sort()),
        n_items=f"{items:,}",
        n_domains=one["benchmark"].n_unique(),
        confidence=f"{CONFIDENCE:.0%}",
        lowest=number(one["true"].min()),
        highest=number(one["true"].max()),
        least=one["n"].min(),
        most=one["n"].max(),
    )


def not_better(settings: Mapping[str, Cases]) -> str:
    """The section of comparisons that `recommended` does not clearly win; `settings` maps a setting to cases."""
    rows = []
    for setting, cases in settings.items():
        for other in [name for name in METHODS if name != RECOMMENDED]:
            more = compared(cases, RECOMMENDED, other)
            if more.upper >= 0:
                rows.append([setting, METHODS[other], f"{more.mean:+.3f} ({more.lower:+.3f} to {more.upper:+.3f})"])
    head = ["fitted on", "`recommended` against", "difference of the errors"]
    return (
        "## Where the recommended method is not better\n\n"
        "The table lists all comparisons over all models in which `recommended` is not clearly nearer the truth: the\n"
        "interval of the difference, its error minus the other method's error, reaches 0. A positive difference means\n"
        "that the other method is nearer on average.\n\n"
        f"{table(head, rows)}"
    )


def left_out(cases: Cases, by_benchmarks: Mapping[str, float]) -> str:
    """The section on leaving out one domain: AEE with intervals, and rho, by model and over all models.

    `by_benchmarks` has the AEE of each model if `recommended` chooses its method by benchmarks.
    """
    once = left_out_once(cases)
    groups = _each_and_all(once)
    rows = [
        [name, *_flat(_aee_and_rho(once.filter(pl.col("model").is_in(models), method=method)) for models in groups)]
        for method, name in METHODS.items()
    ]
    rows.append(["*labels' own chance*", *_flat(_chance(once, models) for models in groups)])
    also = " and ".join(f"{aee:.3f} ({model})" for model, aee in sorted(by_benchmarks.items()))
    head = ["method", *_flat([f"{models[0]}: AEE", "rho"] if len(models) == 1 else ["all: AEE"] for models in groups)]
    return (
        "## Each domain estimated without its labels\n\n"
        f"Trained on the other {once['k'].max()} domains.\n\n![Errors of the methods on each domain]({PICTURE})\n\n"
        f"{table(head, rows)}\n"
        "*Labels' own chance* is the error that exact estimates would have, because the true accuracy is measured\n"
        "on few labels. Rho is Spearman's rank correlation of estimated and true accuracies over a model's domains.\n\n"
        "`recommended` chooses its method here by kinds of question (the next section), each held out in turn. If it\n"
        f"chooses by whole benchmarks, as other pages and `fit --domain benchmark` do, its AEE is\n{also}."
    )


def kinds(validations: Sequence[ModelValidation]) -> str:
    """The section on kinds of question: the validation with each kind, and each benchmark, held out."""
    rows = []
    for validation in validations:
        whole = validation.new_groups
        assert whole is not None  # the study has kinds
        counted = [domain for domain in whole.domains if domain.estimated is not None]
        by_chance = chance(pl.DataFrame({"true": [one.true for one in counted], "n": [one.n for one in counted]}))
        errors = {"kind": validation.recommended.aee, "benchmark": whole.aee, "*labels' own chance*": by_chance}
        says = {"kind": validation, "benchmark": whole}
        for what, aee in errors.items():
            card = [number(says[what].error_at_most), says[what].verdict] if what in says else ["", ""]
            rows.append([validation.model, what, str(len(counted)), number(aee), *card])
    return (
        "## Many small domains\n\n"
        "The same answers, divided into kinds of question ([how](../examples/real/README.md#domains)), with all\n"
        "labels. `recommended` estimates each kind twice: fitted on all other kinds, and only on the other\n"
        "benchmarks. The first verdict is about a new kind of a known benchmark, the second about a new\n"
        "benchmark. [The gallery](gallery.md) lists each kind.\n\n"
        f"{table(['model', 'left out', 'kinds', 'AEE', 'mean error on new ones at most', 'verdict'], rows)}"
    )


def few_domains(cases: Cases) -> str:
    """The section on small training groups: median AEE by group size, and the paper's values."""
    head = ["trained on", "model", "groups", *METHODS.values()]
    rows = []
    for (k, model), part in cases.group_by("k", "model", maintain_order=True):
        by_method = {
            name: _aee_of_groups(part.filter(method=name)) for name in METHODS if name in part["method"].unique()
        }
        cells = [_median(by_method[name]) if name in by_method else "-" for name in METHODS]
        rows.append([f"{k}", model, str(part["group"].n_unique()), *cells])
    rows.sort(key=lambda row: (int(row[0]), row[1]))
    return (
        "## Trained on one to four domains\n\n"
        "For each size, the median AEE on the domains outside the training group, over all groups (interquartile\n"
        f"range in brackets), as in the paper's Tables 3, 4 and 10.\n\n{table(head, rows)}\n{_published()}"
    )


def _published() -> str:
    """A table of the paper's values: the lowest and highest median AEE of its nine models."""
    by_size, last = read_published_values("table_4_group_size"), read_published_values("table_10_leave_one_out")
    rows = [
        [f"{k}", f"{part['aee_median'].min():.2f} to {part['aee_median'].max():.2f}", "Table 4, all ten domains"]
        for (k,), part in by_size.sort("k").group_by("k", maintain_order=True)
    ]
    column = last["held_out_aee_median"]
    rows.append(["9", f"{column.min():.2f} to {column.max():.2f}", "Table 10, the held-out domain"])
    return (
        "The paper's values for its default estimator: the lowest and highest median AEE of nine models with 3.4 to\n"
        "20 billion parameters.\n\n" + table(["trained on", "the paper's default", "where"], rows)
    )


def intervals(validated: pl.DataFrame) -> str:
    """The section on coverage: how often intervals hold, and how often the verdict is `usable`."""
    head = ["labelled domains", "cases", "AEE", *(f"{level:.0%}" for level in LEVELS), "width at 90%", "`usable`"]
    rows = []
    for (k,), part in validated.sort("k").group_by("k", maintain_order=True):
        covered = [f"{share(part, inside(level))}" for level in LEVELS]
        width = part.select((pl.col("upper_90%") - pl.col("lower_90%")).mean()).item()
        usable = share(part, pl.col("verdict") == USABLE)
        rows.append([f"{k}", f"{len(part)}", f"{part['error'].mean():.3f}", *covered, f"{width:.2f}", usable])
    worst = validated.filter(verdict=USABLE)
    message = (
        f"If the verdict was `usable`, {share(worst, inside(0.9))} of the 90% intervals held, and the worst "
        f"estimate was off by {worst['error'].max():.3f}."
        if len(worst)
        else "No verdict on this page is `usable`: with so few domains and labels it is out of reach."
    )
    if _share_inside(validated, 0.9) > 0.95:
        message += (
            "\n\nThe intervals are wider than these answers need. Narrower ones hold too rarely for estimators that "
            "are off by\nmore (`make bench-learned`, `make bench-verdict`), so they stay."
        )
    return (
        "## Do the intervals hold?\n\n"
        "`recommended` is fitted and validated on every group of that many domains. The table shows the share of the\n"
        "other domains whose true accuracy is in the interval of each level, and the share of the verdict `usable`.\n\n"
        f"{table(head, rows)}\n{message}"
    )


def flags(validated: pl.DataFrame) -> str:
    """The section on flags: how often each is raised on bad estimates and on the others."""
    bad = pl.col("error") > BAD
    head = ["labelled domains", "flag", "domains flagged", f"of errors above {BAD:.2f}", "of the others"]
    rows = []
    for (k,), part in validated.filter(pl.col("k") < pl.col("k").max()).sort("k").group_by("k", maintain_order=True):
        for flag in FLAGS:
            shares = [share(some, pl.col(flag)) for some in (part, part.filter(bad), part.filter(~bad))]
            rows.append([f"{k}", flag, *shares])
    return (
        "## Which flags are raised, and which errors they find\n\n"
        f"A flag is useful if it marks a larger share of the estimates that are off by more than {BAD:.2f} than of\n"
        "the others. Counts are in brackets. *Truncated*: more than a tenth of the responses are truncated. *Training\n"
        "accuracy*: less than a twentieth of the training rows belong to one class. With "
        f"{validated['k'].max()} training domains\nthere are too few cases.\n\n{table(head, rows)}"
    )


def left_out_once(cases: Cases) -> Cases:
    """The cases of the largest training groups, which leave out one domain."""
    return cases.filter(pl.col("k") == cases["k"].max())


def _each_and_all(cases: Cases) -> list[list[str]]:
    models = cases["model"].unique().sort().to_list()
    return [*([model] for model in models), *([models] if len(models) > 1 else [])]


def _aee_and_rho(cases: Cases) -> list[str]:
    """AEE as a cell, and rho for a single model, because rho is over the domains of one model."""
    aee = str(mean_over_domains(cases))
    return [aee, number(measure_rho(cases["estimated"], cases["true"])[0])] if cases["model"].n_unique() == 1 else [aee]


def _chance(cases: Cases, models: Sequence[str]) -> list[str]:
    result = f"{chance(cases.filter(pl.col('model').is_in(models), method=DEFAULT)):.3f}"
    return [result, ""] if len(models) == 1 else [result]


def _flat(parts: Iterable[Sequence[str]]) -> list[str]:
    return [cell for part in parts for cell in part]


def _aee_of_groups(cases: Cases) -> list[float]:
    return cases.group_by("group").agg(pl.col("error").mean())["error"].sort().to_list()


def _median(errors: Sequence[float]) -> str:
    return (
        f"{median_value(errors):.3f} ({interquartile_range(errors):.3f})"
        if len(errors) > 1
        else f"{median_value(errors):.3f}"
    )


def inside(level: float) -> pl.Expr:
    """An expression: whether the interval of this level contains the truth."""
    return pl.col("true").is_between(f"lower_{level:.0%}", f"upper_{level:.0%}")


def _share_inside(part: pl.DataFrame, level: float) -> float:
    return float(part.select(inside(level).mean()).item())


def share(part: pl.DataFrame, of: pl.Expr) -> str:
    """The share of rows for which `of` is true, with their number, or a dash if there are no rows."""
    return f"{part.select(of.mean()).item():.0%} ({part.select(of.sum()).item()})" if len(part) else "-"


def number(value: Any) -> str:
    """A number with three decimals, or a dash for null."""
    return "-" if value is None else f"{value:.3f}"
