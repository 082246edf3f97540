"""The paper's mappings on real rows, in the folder that ENTROPY_SENTINEL_ROWS names: {file}.jsonl.gz, and hand-made
rows of the layouts that may not be passed on in shape-only/{file}.shape.jsonl.
"""

import os
from pathlib import Path

import polars as pl
import pytest
import yaml

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.config.config_loading import load_config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.stages.benchmark_stage import write_benchmark

FOLDER = os.environ.get("ENTROPY_SENTINEL_ROWS")
PAPER = load_config(yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text()))
PICTURE = "a picture is needed"

pytestmark = pytest.mark.skipif(not FOLDER, reason="ENTROPY_SENTINEL_ROWS does not name a folder with real rows")

# benchmark, file, items, rows left out, duplicate questions, a row number and its reference, read by hand
REAL = [
    ("gsm8k", "gsm8k", 1319, {}, 0, 0, "18"),
    ("gsm8k", "gsm8k_train", 7473, {}, 0, 0, "72"),
    ("svamp", "svamp", 300, {}, 0, 0, "27"),
    ("svamp", "svamp_train", 700, {}, 0, 0, "145"),
    ("math", "math_hendrycks", 500, {}, 0, 0, r"\left( 3, \frac{\pi}{2} \right)"),
    ("theoremqa", "theoremqa", 747, {PICTURE: 53}, 0, 0, "11760"),
    ("scibench", "scibench", 692, {}, 2, 0, r"50.7 $\mathrm{atm}$"),
    ("olympiadbench", "olympiadbench_OE_TO_maths_en_COMP", 675, {}, 0, 0, "2"),
    ("livemathbench", "livemathbench_v202412_en", 119, {}, 0, 0, "$2$"),
    ("livemathbench", "livemathbench_v202412_hard_en", 21, {}, 0, 0, "$591$"),
]
SHAPES = [
    ("gsm-symbolic", "gsm_symbolic_p1", 6, {}, 0, 0, "38"),
    ("matscibench", "matscibench_csv", 5, {PICTURE: 2}, 0, 4, "(440, 0.0953) (MPa, dimensionless)"),
    ("matscibench", "matscibench_junkaiz_imagelist", 5, {PICTURE: 2}, 0, 2, r"$\frac{\sqrt{2}}{4} a$"),
    ("gpqa", "gpqa_main", 6, {}, 0, 1, "Hydrogen"),
    ("olympiadbench", "olympiadbench_OE_TO_physics_en_COMP", 4, {}, 0, 3, "5,1.2"),
    ("olympiadbench", "olympiadbench_TP_TO_maths_en_COMP", 2, {}, 0, 0, "$2a+2b=2(a+b)$."),
    ("olympiadbench", "olympiadbench_TP_TO_physics_en_COMP", 1, {}, 0, 0, "Work-energy theorem."),
    ("livemathbench", "livemathbench_v202505_all_en", 5, {}, 0, 3, "$32$"),
]


def load(benchmark: str, file: str, tmp_path: Path) -> tuple[pl.DataFrame, dict]:
    settings = benchmark_settings(PAPER, benchmark) | {"dataset": None, "path": f"{FOLDER}/{file}"}
    output = tmp_path / "benchmarks" / f"{benchmark}.parquet"
    write_benchmark(settings, str(output))
    return BENCHMARKS.read(output), read_provenance(output)


CASES = [(name, f"{file}.jsonl.gz", *rest) for name, file, *rest in REAL]
CASES += [(name, f"shape-only/{file}.shape.jsonl", *rest) for name, file, *rest in SHAPES]


@pytest.mark.parametrize("case", CASES, ids=[file for _, file, *_ in CASES])
def test_items_of_a_file(case: tuple, tmp_path: Path) -> None:
    benchmark, file, items, left_out, duplicates, row, reference = case
    frame, provenance = load(benchmark, file, tmp_path)
    assert len(frame) == provenance["items_in_source"] == items
    assert provenance["left_out"] == left_out
    assert provenance["duplicate_questions"] == duplicates
    assert frame["item_id"].is_unique().all()
    item = frame.filter(pl.col("item_id") == f"{benchmark}-{row:05d}").row(0, named=True)
    assert item["reference"] == reference
    for column in ("question", "reference"):
        text = frame[column]
        assert (text == text.str.strip_chars()).all(), column
        assert (text != "").all(), column
    assert not frame["reference"].str.contains("####", literal=True).any()


def test_numbers_after_the_mark(tmp_path: Path) -> None:
    """All of gsm8k's references are whole numbers, some with thousands separators."""
    frame, _ = load("gsm8k", "gsm8k.jsonl.gz", tmp_path)
    assert frame["reference"].str.contains(r"^-?\d{1,3}(,?\d{3})*$").all()


def test_units_go_with_their_numbers(tmp_path: Path) -> None:
    """495 of scibench's rows have a unit; it may be a power of ten, without which the number means nothing."""
    frame, _ = load("scibench", "scibench.jsonl.gz", tmp_path)
    assert frame["reference"].str.contains(" ", literal=True).sum() == 495
    assert r"1.91 $10^{-47} \mathrm{~kg} \mathrm{~m}^2$" in frame["reference"].to_list()
    assert "2.7 $10^6$" in frame["reference"].to_list()
