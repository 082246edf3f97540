"""Examples of questions with their answers, and what p* is like, from frames ALIGNED and P_STARS."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from entropy_sentinel.analyses.ambiguity.comparison import beside_statistics
from entropy_sentinel.analyses.ambiguity.headings import AmbiguityShown
from entropy_sentinel.frames.numbers import number
from entropy_sentinel.report.tables import Table

_UNIFORM_NOTE = "Where a benchmark has no counts, its answers are taken as equally likely: an assumption."


def table_1_examples(
    questions: pl.DataFrame, aligned: pl.DataFrame, p_stars: pl.DataFrame, settings: AmbiguityShown
) -> Table:
    """One question of each benchmark, that of median H(p*), with its answers, counts, p* and the first model's p."""
    own, rows = p_stars.filter(source=settings["source"]), []
    for (benchmark,), of in own.group_by("benchmark", maintain_order=True):
        item = of.sort("entropy", "item_id").row((len(of) - 1) // 2, named=True)
        right = aligned.filter(pl.col("right"), source=settings["source"], item_id=item["item_id"])
        rows.append(
            {
                "Benchmark": benchmark,
                "Question": questions.filter(item_id=item["item_id"])["question"][0],
                "Answers": ", ".join(right["name"]),
                "Counts": _listed(item["counts"] or [None], "g"),
                "p*": _listed(right["p_star"], ".2f"),
                "Model's p": _listed(right["p"], ".2f"),
                "H(p*), nats": item["entropy"],
            }
        )
    model = aligned["model"][0] if len(aligned) else "no model"
    return Table(
        "A question of each benchmark: the one of median H(p*).",
        pl.DataFrame(rows, schema_overrides={"H(p*), nats": pl.Float64}),
        (f"Model's p: {model}; -: an answer that no sample gave, or a count that is not known.", _UNIFORM_NOTE),
        decimals=2,
    )


def table_8_p_star(p_stars: pl.DataFrame, settings: AmbiguityShown) -> Table:
    """Items, counts of an answer, and entropy of p*, by benchmark and source."""
    found = statistics(p_stars)
    headings = {
        "benchmark": "Benchmark",
        "source": "Source",
        "n": "Items",
        "n_answers": "Answers",
        "count_mean": "Count",
        "count_sd": "SD",
        "entropy_mean": "H(p*)",
        "entropy_sd": "SD of H",
        "divergence": "JS",
    }
    return Table(
        "What p* is like: items, mean number of answers, mean count of an answer and entropy in nats, with standard "
        "deviations.",
        found.rename(headings),
        (
            "JS: mean Jensen-Shannon divergence in nats from the benchmark's own p*; log 2 = 0.69 is the largest.",
            "Count: over all answers of all items. The paper does not say over what its mean is.",
            _UNIFORM_NOTE,
        ),
        decimals=2,
        published=beside_statistics(found, settings),
    )


def statistics(p_stars: pl.DataFrame) -> pl.DataFrame:
    """A row for each benchmark and source."""
    rows = []
    for (benchmark, source), own in p_stars.group_by("benchmark", "source", maintain_order=True):
        counts = own["counts"].drop_nulls().explode().to_numpy()
        rows.append(
            {
                **{"benchmark": benchmark, "source": source, "n": len(own)},
                "n_answers": own["n_answers"].mean(),
                "count_mean": float(np.mean(counts)) if len(counts) else None,
                "count_sd": float(np.std(counts, ddof=1)) if len(counts) > 1 else None,
                "entropy_mean": own["entropy"].mean(),
                "entropy_sd": own["entropy"].std(),
                "divergence": own["divergence"].mean(),
            }
        )
    names = ("n_answers", "count_mean", "count_sd", "entropy_mean", "entropy_sd", "divergence")
    return pl.DataFrame(rows, schema_overrides=dict.fromkeys(names, pl.Float64))


def _listed(values: Sequence[float | None] | pl.Series, form: str) -> str:
    """`0.67, 0.33`."""
    return ", ".join(number(value, form) for value in values)
