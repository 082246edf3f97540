"""Play the judge: verdicts on responses to judge, right about 90 % of the correct and 85 % of the incorrect ones.

python demo/judge.py to_judge.csv verdicts.csv [truth.csv]

A real judge is a language model, asked by `entropy-sentinel judge`; it needs a key, and its file has the same columns.
"""

import sys
from pathlib import Path
from zlib import crc32

import polars as pl

TRUTH = Path(__file__).parent / "truth" / "logs.csv"
NAME, SENSITIVITY, SPECIFICITY = "simulated", 0.9, 0.85


def judge(asked: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """The responses asked for (item_id, label, ...), with a verdict where `truth` (item_id, label) has a label.

    A verdict depends only on the response's id, so a second run gives the same.
    """
    known = asked.drop("label").join(truth, on="item_id", how="left", maintain_order="left")
    verdicts = [verdict(item, label) for item, label in known.select("item_id", "label").iter_rows()]
    return known.with_columns(
        pl.Series("label", verdicts, dtype=pl.Boolean), judge=pl.lit(NAME), witness=pl.lit("verdict")
    )


def verdict(item: object, label: bool | None) -> bool | None:
    """The verdict on a response that is correct or not, null if that is unknown."""
    if label is None:
        return None
    draw = crc32(str(item).encode()) / 2**32
    return draw < SENSITIVITY if label else draw >= SPECIFICITY


def main() -> None:
    asked, target, truth = pl.read_csv(sys.argv[1]), sys.argv[2], [*sys.argv[3:], TRUTH][0]
    result = judge(asked, pl.read_csv(truth))
    result.write_csv(target)
    print(f"{target}: {result['label'].count()} responses judged, {result['label'].sum()} called correct")


if __name__ == "__main__":
    main()
