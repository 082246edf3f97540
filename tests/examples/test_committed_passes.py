"""What passes said of the examples' responses, and the number that the documentation tells of them, by other code."""

import json
from pathlib import Path

import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

REAL = Path(__file__).parents[2] / "examples" / "real"


@pytest.mark.parametrize(
    ("benchmark", "auroc"),
    [("svamp", 0.75), ("gsm8k", 0.69), ("theoremqa", 0.80), ("math", 0.71), ("olympiadbench", 0.28)],
)
def test_the_entropy_area_has_the_auroc_of_the_page(benchmark: str, auroc: float) -> None:
    """The table of docs/entropy-area.md, from labels and passes."""
    labels = pl.read_parquet(REAL / f"labels/qwen2.5-coder-0.5b/{benchmark}.parquet")
    asked = pl.read_parquet(REAL / f"passes/qwen2.5-coder-0.5b/forced_answer/{benchmark}.parquet")
    both = labels.join(asked, on=["item_id", "sample"]).drop_nulls(["label", "eas"])
    assert roc_auc_score(both["label"], -both["eas"]) == pytest.approx(auroc, abs=0.005)


def test_no_machine_is_named() -> None:
    files = list(REAL.glob("passes/*/*/*.parquet"))
    assert len(files) == 7
    for path in files:
        about = json.loads(pl.read_parquet_metadata(path)["entropy_sentinel"])
        assert about["pass"]["asked_with"]["weights"] == about["weights"] == "weights/Qwen2.5-Coder-0.5B-Instruct"
        assert not any(text.startswith("/") for text in json.dumps(about).split('"'))
