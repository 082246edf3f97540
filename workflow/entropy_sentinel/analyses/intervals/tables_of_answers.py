"""What models answer: examples, and what share of the answers can be read."""

from collections.abc import Iterator

import polars as pl

from entropy_sentinel.analyses.intervals.catalogue import REASONS, TEST, level_title
from entropy_sentinel.report.tables import Table, number_frame

# Questions of Table 1, the first of the test half.
N_EXAMPLES = 5


def table_1_examples(items: pl.DataFrame, adjusted: pl.DataFrame) -> Table:
    """The first questions of the test half, the right exponent, and what each model states at each level."""
    stated = adjusted.filter(half=TEST, method="base")
    levels = stated["level"].unique().sort().to_list()
    shown = stated["item_id"].unique(maintain_order=True).head(N_EXAMPLES)
    said = {
        (item, model, level): "-" if lower is None else f"[{lower:g}, {upper:g}]"
        for item, model, level, lower, upper in stated.select("item_id", "model", "level", "lower", "upper").iter_rows()
    }
    rows = []
    for item, question, answer in items.select("item_id", "question", "reference").iter_rows():
        for model in stated["model"].unique(maintain_order=True) if item in shown else ():
            about = {"Question": question, "Answer": int(answer), "Model": model}
            rows.append(about | {level_title(level): said.get((item, model, level), "-") for level in levels})
    headings = ["Question", "Answer", "Model", *map(level_title, levels)]
    return Table(
        "Questions of the test half, their answers as powers of ten, and the intervals that models state.",
        pl.DataFrame(rows, schema=headings, infer_schema_length=None),
        (f"The first {N_EXAMPLES} questions. -: no interval that can be read.",),
    )


def table_parsing(stated: pl.DataFrame, integers: pl.DataFrame) -> Table:
    """Of every variant and benchmark the share of the answers that can be read, and why others cannot."""
    keys, numbers = ["Variant", "Asked for", "Benchmark"], ["Answers", "Read", *REASONS.values()]
    rows = [*_shares(stated, "level"), *_shares(integers, "temperature")]
    return Table(
        "Share of the answers that can be read, and of those that cannot by why, of all samples.",
        number_frame(rows, keys, numbers),
        (
            "An interval is the last JSON object of a response that has ended by itself: integers L and U, L at most "
            "U, and nothing else; an integer alone is a response that is nothing but it.",
            "What cannot be read counts neither as wrong nor as covered.",
        ),
    )


def _shares(answers: pl.DataFrame, axis: str) -> Iterator[dict[str, object]]:
    for (variant, at, benchmark), own in answers.group_by("model", axis, "benchmark", maintain_order=True):
        asked = f"{at:g} %" if axis == "level" else f"integer, temperature {at:g}"
        yield {
            **{"Variant": variant, "Asked for": asked, "Benchmark": benchmark, "Answers": len(own)},
            "Read": own["reason"].null_count() / len(own),
            **{title: len(own.filter(reason=reason)) / len(own) for reason, title in REASONS.items()},
        }
