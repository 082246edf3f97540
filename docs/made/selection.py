"""Write the page "Which items to train on": how to select items, and the results on the demo.

`PYTHONPATH=docs:workflow:demo python -m made.selection results/demo-selection docs` writes docs/selection.md and
pictures from the results of `make study-selection`.
"""

import argparse
import re
import shutil
from pathlib import Path

import polars as pl
from papers.selection.selection_exhibits import STRATEGIES

from entropy_sentinel.rendering.html_pages import Exhibit
from made.markdown import table
from trained import BASELINE, BEFORE, FIGURE, TABLE, differences

JUDGE = "math-verify"
_PAGE = """\
<!-- of the analysis selection -->
# Which items to train on

This page is for people who choose training items for a model. The command `select` writes the items that one strategy
ranks first, as a file that a trainer reads:

```
entropy-sentinel select MODEL -c mine.yaml --strategy eas --size 5000 --output train.jsonl
```

The command is there after `make demo`; after `pip install .`, also run `pip install ./papers`.

A model may learn most from items that it is unsure about. Each strategy ranks items by one measure; a study writes the
files of all strategies and compares them. The strategies are those of Zhu et al., *Uncertainty Under the Curve* (2025),
Section 4. **Nothing below shows that one strategy is better than another.**

{strategies}

## From a study to a file

```yaml
# mine.yaml, what a study needs besides its models and benchmarks
run:
  features: [tokens, forced_answer]   # for eas: the model is asked again about its responses
  analyses: [selection]
generation:
  samples: 4                          # for pass-rate: responses per item
analyses:
  selection:
    size: 5000
    solutions: [solved.jsonl]         # columns question and solution; without them, the reference is learned
```

After `snakemake --configfile mine.yaml`, `results/STUDY/JUDGE/selection/` has `MODEL/STRATEGY.jsonl` for each
strategy, tables and figures of overlap, difficulty and length, and `report.html`. `select` writes a single file, with
another size or seed.

Each line has `messages`: the model's prompt and the answer to learn. If the prompt is plain text, it has `prompt` and
`completion` instead. Question, reference, `scores` and `reason`, the reason for the choice, follow.

- **Candidates** have a reference and a response; each question counts once. Length, accuracy and entropy area refer to
  the first response, the pass rate to the first `tries`.
- **The entropy area** uses the response's own answer. The paper's uses the reference: `answer: reference` (with
  `signals.forced_answer.answers: [reference]`).
- **Equal scores** are common, because a pass rate over four tries has only three possible values. Ties are ordered as
  by `random` with the same seed.
- **Too few candidates**: a strategy takes all of them and reports this.

## Shown on a tiny model

**Read this first.** One selection of each kind was drawn, of {size} problems, and accuracy is measured on 100
problems, so one problem is one percentage point. The intervals cover only the seeds of training and answers; over other
draws and problems they would be far wider. "Above" and "below" random apply only to these selections and problems, and
are no reason to prefer a strategy. The model is tiny and its problems are made up. It had already been trained on tens
of thousands of similar problems, so {size} more teach it little. The published differences have no intervals, so do not
compare individual numbers with them.

`make study-selection` takes {n_candidates} training problems of the demo's ten domains, with four responses of tiny-1m
to each, and runs the pass. Each strategy selects {size} problems. The same checkpoint is trained on each selection with
the same steps and {seeds} seeds, and the trained models answer new problems.

{verdict}

{trained}

<img src="selection/{figure}" width="560" alt="{alt}">

Mean pass@1 over the seeds, by domain, in per cent:

{domains}
What each strategy prefers:

<img src="selection/{overlap}" width="880" alt="Overlap, difficulty and length of the selections">

{selections}

Numbers by `make study-selection selection-page`.
"""


def write_page(results: Path, docs: Path) -> Path:
    """Write the page and its pictures to `docs` from the study's results, and return the page's path."""
    folder = results / JUDGE / "selection"
    runs = pl.read_csv(folder / "trained" / "runs.csv")
    candidates = pl.concat(pl.read_parquet(path) for path in sorted((folder / "candidates").glob("*.parquet")))
    pictures = docs / "selection"
    pictures.mkdir(parents=True, exist_ok=True)
    overlap = Exhibit("figure", "selections", "").file
    for picture in (folder / "trained" / f"{FIGURE.file}.png", folder / "figures" / f"{overlap}.png"):
        shutil.copy(picture, pictures / picture.name)
    result = differences(runs)
    text = _PAGE.format(
        strategies=table(["strategy", "takes"], [[f"`{name}`", one.meaning] for name, one in STRATEGIES.items()]),
        n_candidates=f"{len(candidates):,}",
        size=result["items"].max(),
        seeds=result["seeds"].max(),
        domains=_by_domain(runs),
        verdict=verdict(result, runs),
        trained=(folder / "trained" / f"{TABLE.file}.md").read_text(encoding="utf-8").strip(),
        figure=f"{FIGURE.file}.png",
        alt=FIGURE.title,
        overlap=f"{overlap}.png",
        selections=(folder / "tables" / "table_selections.md").read_text(encoding="utf-8").strip(),
    )
    path = docs / "selection.md"
    path.write_text(re.sub(r"\n{3,}", "\n\n", text), encoding="utf-8")
    return path


def verdict(result: pl.DataFrame, runs: pl.DataFrame) -> str:
    """A list in Markdown: the difference of each strategy from random with its interval, and random's own
    gain."""
    parts = []
    for row in result.filter(pl.col("strategy") != BASELINE).iter_rows(named=True):
        lower, upper = row["lower"], row["upper"]
        kind = "above" if lower > 0 else "below" if upper < 0 else "not clearly different from"
        parts.append(
            f"- **{STRATEGIES[row['strategy']].title}** is {kind} random: {100 * row['difference']:+.2f} points "
            f"({100 * lower:+.2f} to {100 * upper:+.2f})."
        )
    before = runs.filter(strategy=BEFORE)["pass_at_1"].mean()
    random = result.filter(strategy=BASELINE)["pass_at_1"].item()
    assert isinstance(before, float)  # the script measures the checkpoint as well
    parts.append(f"- Training on random itself moves pass@1 from {100 * before:.2f} to {100 * random:.2f} per cent.")
    return "\n".join(parts)


def _by_domain(runs: pl.DataFrame) -> str:
    """A Markdown table of mean pass@1 by domain, in per cent, with a column for each selection."""
    fixed = ("strategy", "seed", "items", "pass_at_1")
    names = [name for name in (BEFORE, *STRATEGIES) if name in runs["strategy"]]
    means = runs.group_by("strategy").agg(pl.col(name).mean() * 100 for name in runs.columns if name not in fixed)
    of = {row["strategy"]: row for row in means.iter_rows(named=True)}
    titles = ["Before training" if name == BEFORE else STRATEGIES[name].title for name in names]
    rows = [
        [f"`{domain}`", *(f"{of[name][domain]:.1f}" for name in names)]
        for domain in runs.columns
        if domain not in fixed
    ]
    return table(["Domain", *titles], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="folder of the study's results")
    parser.add_argument("docs", type=Path)
    arguments = parser.parse_args()
    print(write_page(arguments.results, arguments.docs))


if __name__ == "__main__":
    main()
