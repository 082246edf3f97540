"""Write the page and its picture: `python -m made.how_well results docs`."""

import argparse
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path

import polars as pl

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.analyses.accuracy.measuring.study_validation import read_validations
from made.how_well import elsewhere, page, unlike, witnesses
from made.how_well.cases import read_cases
from made.how_well.fitted import beside_estimates, chosen_by_benchmarks, moved, read_observations, validated
from made.how_well.picture import PICTURE, draw
from made.how_well.trivia import read_trivia

STUDY, AT_ANOTHER_TEMPERATURE, JUDGE = "real", "real-temperature", "math-verify"
KINDS, CHECKS = "kinds", "checks"
# Sizes of the training groups that are validated: a validation needs at least three domains.
SIZES = (3, 4, 6)


def write_page(results: Path, docs: Path) -> Path:
    """Write the page to `docs`, from the results of both studies."""
    study, again = results / STUDY, results / AT_ANOTHER_TEMPERATURE
    cases, observations = read_cases(study, JUDGE), read_observations(study, JUDGE)
    checked = pl.concat([validated(rows, SIZES) for rows in observations.values()])
    moves = {
        (one, other): (
            moved(observations[one], observations[other], without_domain=True),
            moved(observations[one], observations[other], without_domain=False),
        )
        for one, other in permutations(observations, 2)
    }
    items = next(iter(observations.values()))["item_id"].n_unique()
    settings = {"all domains but one": page.left_out_once(cases)}
    if moves:
        settings["labels of the other model"] = pl.concat([without for without, _ in moves.values()])
    later = [elsewhere.transfer(moves, cases)] if moves else []
    for hot, rows in read_observations(again, JUDGE).items():
        same = observations[hot.rpartition("-t")[0]]
        at = [temperature_of(one, model) for one, model in ((study, same["model"][0]), (again, hot))]
        tried = [moved(same, asked, without_domain=True) for asked in (rows, same)]
        settings[f"labels at temperature {at[0]:g}, answers at {at[1]:g}"] = tried[0]
        later.append(elsewhere.temperature(*tried, (at[0], at[1])))
    parts = [
        page.introduction(cases, items),
        elsewhere.other_kind(_between_kinds(observations)),
        _of_many_kinds(results / KINDS, observations),
        page.not_better(settings),
        page.left_out(cases, {model: chosen_by_benchmarks(rows) for model, rows in observations.items()}),
        page.kinds(read_validations(sorted((study / JUDGE / "validation").glob("*.json")))),
        page.few_domains(cases),
        page.intervals(checked),
        page.flags(checked),
        *later,
    ]
    draw(page.left_out_once(cases), docs / PICTURE)
    path = docs / "how_well.md"
    path.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")
    return path


def _of_many_kinds(study: Path, mathematics: Mapping[str, pl.DataFrame]) -> str:
    """The section on traffic of many kinds, for the models of the study of kinds."""
    of_models = {model: unlike.by_kind(rows) for model, rows in read_observations(study, CHECKS).items()}
    validations = read_validations(sorted((study / CHECKS / "validation").glob("*.json")))
    left_out = {
        model: (unlike.estimates_left_out(rows, "benchmark"), unlike.estimates_left_out(rows, "family"))
        for model, rows in of_models.items()
    }
    cases = {model: unlike.asked_elsewhere(rows, mathematics.get(model)) for model, rows in of_models.items()}
    labels_alone = unlike.section(
        cases,
        left_out,
        {model: unlike.with_labels(rows, cases[model][unlike.OTHER_FAMILIES]) for model, rows in of_models.items()},
        [verdict for validation in validations for _, verdict, _ in validation.verdicts_by_scope],
    )
    watched = {model: witnesses.watch(model, estimates) for model, estimates in left_out.items()}
    return f"{labels_alone}\n\n{witnesses.section(watched)}"


def _between_kinds(mathematics: Mapping[str, pl.DataFrame]) -> dict[tuple[str, str], pl.DataFrame]:
    """The cases of all models: fitted on each kind of question and applied to the other kind."""
    trivia = {model: read_trivia(model) for model in mathematics}
    kinds = {"mathematics": mathematics, "trivia": trivia}
    return {
        (known, asked): pl.concat(beside_estimates(kinds[known][model], kinds[asked][model]) for model in mathematics)
        for known, asked in permutations(kinds, 2)
    }


def temperature_of(study: Path, model: str) -> float:
    """The sampling temperature of a model's answers, from the provenance of their traces."""
    traces = next((study / "generations" / model).glob("*.parquet"))
    return float(read_provenance(traces)["sampling"]["temperature"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder of the studies' results")
    parser.add_argument("docs", type=Path)
    arguments = parser.parse_args()
    print(write_page(arguments.results, arguments.docs))


if __name__ == "__main__":
    main()
