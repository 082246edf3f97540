"""The page's section on second opinions: another model's agreement as an estimate on traffic of many kinds."""

import string
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from entropy_sentinel.estimators.estimator_registry import RECOMMENDED
from entropy_sentinel.statistics.monitoring.partner_strength import PartnerVerdict
from made.how_well import second_opinion as opinion
from made.how_well.page import Cases, number
from made.markdown import table

PARTNER = "qwen2.5-coder-1.5b"
# Each watched model, and another partner: one is weaker than the watched model.
OTHER_PAIRS = (("smollm2-135m", "qwen2.5-coder-0.5b"), ("qwen2.5-coder-0.5b", "smollm2-135m"))
# The column of a frame of kinds, by the title that the page gives to leaving its values out.
GROUPS = ("kind", "family")
TITLES = {
    opinion.FLOOR: "mean accuracy of the other kinds (floor)",
    opinion.ESTIMATOR: "recommended",
    opinion.AGREEMENT: "**agreement**",
    opinion.AGREEMENT_OR_ESTIMATOR: "agreement if comparable, else recommended",
    opinion.MEAN: "mean of both if comparable, else recommended",
}
_STRENGTH = {PartnerVerdict.STRONG: "yes", PartnerVerdict.WEAK: "no", PartnerVerdict.UNCHECKED: "unknown"}
# Errors of each model that the page lists.
_LARGEST = 4


_SECTION = string.Template("""\
### A second opinion

$partner answered at most $most questions of each kind once, at temperature 0. The estimate is the share of
the logged answers that agree with its answers, without any label. It is near the accuracy if the other model is usually
right, and if both seldom make the same mistake. A kind is *comparable* if half of its logged answers are short or end
in a number. *Worth* is the number of random labels of each kind with the same AEE.

$all_kinds

The last column is the AEE with a kind left out minus that of `recommended`, with 90% limits of a bootstrap over
families. On the comparable kinds:

$comparable

The intervals are those of `monitor`, at 90%. They include the chance of the questions asked, and the spread of the
errors on the other kinds, or on those of the other families. Their width is for a family left out. AEE by the number of
questions asked of each comparable kind:

$questions

So ask 30 to 60 questions of each slice. Mean tokens of a question and of the partner's answer:

$cost

It fails where a question has many right answers (a text with given words, or with a number of words), where the partner
only guesses (whether a number is prime), where both models make the same mistake, and where a label also asks for a
format, which the agreement overlooks (JSON, one word). The largest errors:

$failures

The partner must be stronger than the watched model. Its own accuracy on the same questions tells:

$partners

$partner is of the first model's family, and no stronger model of another family was measured, so
another partner may be better or worse. The rules that compare two answers, and the assumption behind the intervals,
were made with answers of these models in view. Label some slices: `monitor` then says what the agreement is worth on
yours. There are no replies of a judge to these questions. `make bench-witnesses` prints the numbers of each kind.
""")


class Watched(NamedTuple):
    """What is known of a watched model: its compared answers, and its kinds with all ways, by what is left out."""

    answers: pl.DataFrame
    kinds: dict[str, pl.DataFrame]


def watch(model: str, left_out: Sequence[Cases]) -> Watched:
    """A model beside PARTNER; `left_out` has the estimates if a kind, or its whole family, is left out."""
    answers = opinion.compare_answers(model, PARTNER)
    counts = opinion.count_kinds(answers)
    kinds = {}
    for group, cases in zip(GROUPS, left_out, strict=True):
        estimates = dict(cases.filter(method=RECOMMENDED).select("benchmark", "estimated").iter_rows())
        kinds[group] = opinion.add_ways(counts, estimates, group)
    return Watched(answers, kinds)


def section(models: Mapping[str, Watched]) -> str:
    """The section, from the watched models."""
    tables = {
        "all_kinds": _all_kinds(models),
        "comparable": _comparable(models),
        "questions": _questions(models),
        "cost": _cost(models),
        "failures": _failures(models),
        "partners": _partners(models),
    }
    tables = {name: text.strip() for name, text in tables.items()}
    return _SECTION.substitute(tables, partner=PARTNER, most=max(opinion.QUESTIONS))


def _all_kinds(models: Mapping[str, Watched]) -> str:
    head = ["model", "estimate", "kinds", "AEE, kind left out", "family left out", f"off by more than {opinion.FAR}"]
    rows = []
    for model, watched in models.items():
        kinds = watched.kinds["kind"]
        for way, title in TITLES.items():
            quality = opinion.measure_quality(kinds, way)
            family = opinion.measure_error(watched.kinds["family"], way)
            far = f"{quality.far / quality.kinds:.0%} ({quality.far})"
            row = [model, title, str(quality.kinds), number(quality.error), number(family), far]
            less = (
                ""
                if way == opinion.ESTIMATOR
                else "{:+.3f} ({:+.3f} to {:+.3f})".format(*opinion.compare_ways(kinds, way, opinion.ESTIMATOR))
            )
            # The mean of the other kinds has the opposite order.
            order = number(None if way == opinion.FLOOR else quality.rho)
            rows.append([*row, order, f"{quality.worth:.1f}", less])
    return table([*head, "rho", "worth, labels", "difference"], rows)


def _comparable(models: Mapping[str, Watched]) -> str:
    head = ["model", "estimate", "kinds", "AEE, kind left out", "family left out", f"off by more than {opinion.FAR}"]
    head += ["worth, labels", "intervals that hold: kind left out", "family left out", "their width"]
    rows = []
    for model, watched in models.items():
        parts = {group: kinds.filter("comparable") for group, kinds in watched.kinds.items()}
        for way in (opinion.ESTIMATOR, opinion.AGREEMENT, opinion.MEAN):
            quality = opinion.measure_quality(parts["kind"], way)
            row = [model, TITLES[way].split(" if")[0], str(quality.kinds), number(quality.error)]
            row += [
                number(opinion.measure_error(parts["family"], way)),
                f"{quality.far / quality.kinds:.0%} ({quality.far})",
            ]
            row.append(f"{quality.worth:.1f}")
            if way == opinion.ESTIMATOR:
                row += ["", "", ""]
            else:
                held = {
                    group: opinion.measure_intervals(watched.answers, part, way, group) for group, part in parts.items()
                }
                row += [f"{held[group].coverage:.0%}" for group in GROUPS] + [number(held["family"].width)]
            rows.append(row)
    return table(head, rows)


def _questions(models: Mapping[str, Watched]) -> str:
    head = ["model", "kinds", *map(str, opinion.QUESTIONS[:-1]), f"all, at most {opinion.QUESTIONS[-1]}"]
    rows = []
    for model, watched in models.items():
        kinds = watched.kinds["kind"].filter("comparable")
        errors = [number(opinion.expect_error_of_questions(kinds, n)) for n in opinion.QUESTIONS]
        rows.append([model, str(len(kinds)), *errors])
    return table(head, rows)


def _cost(models: Mapping[str, Watched]) -> str:
    """A table of the partner's tokens by family, over the questions of all models."""
    asked = pl.concat(watched.answers.filter("asked") for watched in models.values()).unique("item_id")
    tokens = asked.group_by("family").agg(pl.col("tokens_in").mean(), pl.col("tokens_out").mean()).sort("family")
    rows = [[family, f"{sent:.0f}", f"{received:.0f}"] for family, sent, received in tokens.iter_rows()]
    return table(["family", "tokens in", "tokens out"], rows)


def _failures(models: Mapping[str, Watched]) -> str:
    rows = []
    for model, watched in models.items():
        kinds = watched.kinds["kind"].with_columns(error=(pl.col("agreement") - pl.col("accuracy")).abs())
        for name, true, estimated, comparable in (
            kinds.sort("error", descending=True)
            .head(_LARGEST)
            .select("kind", "accuracy", "agreement", "comparable")
            .iter_rows()
        ):
            rows.append([model, name, number(true), number(estimated), "yes" if comparable else "no"])
    return table(["model", "kind", "true", "agreement", "comparable"], rows)


def _partners(models: Mapping[str, Watched]) -> str:
    pairs = {(model, PARTNER): watched.answers for model, watched in models.items()}
    pairs |= {pair: opinion.compare_answers(*pair) for pair in OTHER_PAIRS}
    rows = []
    for (model, partner), answers in pairs.items():
        kinds = opinion.add_floor(opinion.count_kinds(answers))
        comparable = kinds.filter("comparable")
        errors = [number(opinion.measure_error(kinds, way)) for way in (opinion.AGREEMENT, opinion.FLOOR)]
        rows.append([
            model, partner, number(kinds["watched"].mean()), number(kinds["partner"].mean()),
            _STRENGTH[opinion.check_strength(answers).verdict], *errors,
            number(opinion.measure_error(comparable, opinion.AGREEMENT)),
        ])  # fmt: skip
    head = [
        "model",
        "partner",
        "its accuracy",
        "the partner's accuracy",
        "strong enough",
        "AEE of the agreement",
        "floor",
    ]
    return table([*head, "AEE if comparable"], rows)
