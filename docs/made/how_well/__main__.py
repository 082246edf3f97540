"""Write the page and its picture: `python -m made.how_well results/real docs`."""

import argparse
from itertools import permutations
from pathlib import Path

import polars as pl

from made.how_well import page
from made.how_well.cases import read_cases
from made.how_well.fitted import moved, read_observations, validated

JUDGE = "math-verify"
# Training groups that are validated: with fewer than three domains there is nothing to leave out.
SIZES = (3, 4, 6)


def write_page(results: Path, docs: Path) -> Path:
    """The page in `docs`, from the results of the study."""
    cases, observations = read_cases(results, JUDGE), read_observations(results, JUDGE)
    checked = pl.concat([validated(rows, SIZES) for rows in observations.values()])
    moves = {
        (one, other): (
            moved(observations[one], observations[other], without_domain=True),
            moved(observations[one], observations[other], without_domain=False),
        )
        for one, other in permutations(observations, 2)
    }
    items = sum(one["item_id"].n_unique() for one in list(observations.values())[:1])
    parts = [
        page.introduction(cases, items),
        page.not_better(cases),
        page.left_out(cases),
        page.few_domains(cases),
        page.intervals(checked),
        page.flags(checked),
    ]
    if moves:
        parts.append(page.transfer(moves, cases))
    path = docs / "how_well.md"
    path.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder of the study's results")
    parser.add_argument("docs", type=Path)
    arguments = parser.parse_args()
    print(write_page(arguments.results, arguments.docs))


if __name__ == "__main__":
    main()
