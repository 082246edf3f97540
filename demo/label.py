"""Play the person who labels: copy responses to label, with `label` filled in from demo/truth/logs.csv or another file.

python demo/label.py to_label.csv labelled.csv [truth.csv]
"""

import sys
from pathlib import Path

import polars as pl

TRUTH = Path(__file__).parent / "truth" / "logs.csv"


def labelled(asked: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """The responses asked for (item_id, label, ...), in their order, with the labels of `truth` (item_id, label)."""
    return asked.drop("label").join(truth, on="item_id", how="left", maintain_order="left")


def main() -> None:
    asked, target, truth = pl.read_csv(sys.argv[1]), sys.argv[2], [*sys.argv[3:], TRUTH][0]
    result = labelled(asked, pl.read_csv(truth))
    result.write_csv(target)
    print(f"{target}: {result['label'].count()} responses labelled, {result['label'].sum()} of them correct")


if __name__ == "__main__":
    main()
