"""Measure what a second opinion is worth on traffic of many kinds: another model's agreement with the logged answers.

The answers are those of examples/kinds: two watched models, 23 kinds of question, and a stronger partner that answered
at most 60 questions of each kind once. The agreement is compared with the mean accuracy of the other kinds (the floor)
and with `recommended`, fitted on the other kinds or on the other families, and with combinations of them. A weaker
partner is measured, too, and how the error depends on the number of questions. There are no replies of a judge to these
questions, so none is measured. Run by `make bench-witnesses`; the last line is one JSON object.
"""

import argparse
import json
from typing import Any

import polars as pl
from tabulate import tabulate

from entropy_sentinel.estimators.estimator_registry import RECOMMENDED
from made.how_well import second_opinion as opinion
from made.how_well.unlike import estimates_left_out, read_observations_of_kinds
from made.how_well.witnesses import GROUPS, OTHER_PAIRS, PARTNER, Watched, watch

WATCHED = ("qwen2.5-coder-0.5b", "smollm2-135m")


def fit_estimators(model: str) -> Watched:
    """A watched model with the estimates of `recommended`, if its kinds and families are left out."""
    rows = read_observations_of_kinds(model)
    return watch(model, [estimates_left_out(rows, column, [RECOMMENDED]) for column in ("benchmark", "family")])


def measure_ways(model: str, watched: Watched) -> list[dict[str, Any]]:
    """The quality of each way, on all kinds and on the comparable ones, if a kind or a family is left out."""
    rows = []
    for group in GROUPS:
        for part in (watched.kinds[group], watched.kinds[group].filter("comparable")):
            for way in opinion.WAYS:
                less, lower, upper = opinion.compare_ways(part, way, opinion.ESTIMATOR)
                row = {"watched": model, "left out": group, "way": way}
                row |= opinion.measure_quality(part, way)._asdict()
                row |= {"less the estimator's": less, "lower": lower, "upper": upper}
                if way == opinion.AGREEMENT or (way == opinion.MEAN and part["comparable"].all()):
                    row |= opinion.measure_intervals(watched.answers, part, way, group)._asdict()
                rows.append(row)
    return rows


def describe_pair(watched: str, partner: str, answers: pl.DataFrame) -> dict[str, Any]:
    """The accuracies of both models on the same questions, and the error of the raw agreement."""
    kinds = opinion.add_floor(opinion.count_kinds(answers))
    comparable = kinds.filter("comparable")
    return {
        "watched": watched,
        "partner": partner,
        "kinds": len(kinds),
        "its accuracy": kinds["watched"].mean(),
        "the partner's": kinds["partner"].mean(),
        "partner is": opinion.check_strength(answers).verdict,
        "floor": opinion.measure_error(kinds, opinion.FLOOR),
        "agreement": opinion.measure_error(kinds, opinion.AGREEMENT),
        "comparable": len(comparable),
        "agreement there": opinion.measure_error(comparable, opinion.AGREEMENT),
    }


def count_questions(watched: str, answers: pl.DataFrame) -> dict[str, Any]:
    """The expected error of the agreement by the number of questions, on comparable kinds."""
    kinds = opinion.count_kinds(answers).filter("comparable")
    errors = {str(n): opinion.expect_error_of_questions(kinds, n) for n in opinion.QUESTIONS}
    return {"watched": watched, "kinds": len(kinds), **errors}


def list_kinds(answers: pl.DataFrame) -> list[dict[str, Any]]:
    """The numbers of each kind."""
    columns = ["kind", "accuracy", "n", "agreement", "asked", "comparable", "watched", "partner"]
    kinds = opinion.count_kinds(answers).select(columns)
    return kinds.with_columns(error=pl.col("agreement") - pl.col("accuracy")).to_dicts()


def show(title: str, rows: list[dict[str, Any]]) -> None:
    print(f"\n{title}\n{tabulate(rows, headers='keys', floatfmt='.3f')}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--watched", nargs="+", choices=WATCHED, default=WATCHED, metavar="MODEL")
    parser.add_argument("--no-estimator", action="store_true", help="do not fit: only the agreement and the floor")
    arguments = parser.parse_args()
    pairs = [*((watched, PARTNER) for watched in arguments.watched), *OTHER_PAIRS]
    answers = {pair: opinion.compare_answers(*pair) for pair in pairs}
    beside_partner = {watched: answers[watched, PARTNER] for watched in arguments.watched}
    for watched, rows in beside_partner.items():
        show(f"{watched} beside {PARTNER}", list_kinds(rows))
    partners = [describe_pair(*pair, rows) for pair, rows in answers.items()]
    show("Partners", partners)
    questions = [count_questions(watched, rows) for watched, rows in beside_partner.items()]
    show("Error by the number of questions, comparable kinds", questions)
    ways: list[dict[str, Any]] = []
    if not arguments.no_estimator:
        ways = [row for watched in arguments.watched for row in measure_ways(watched, fit_estimators(watched))]
        show("Ways to estimate a kind without its labels", ways)
    print(json.dumps({"benchmark": "witnesses", "partners": partners, "questions": questions, "ways": ways}))


if __name__ == "__main__":
    main()
