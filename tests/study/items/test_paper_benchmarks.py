"""The paper's ten benchmarks: what its config makes of rows with their columns, from a file and from a data set."""

from pathlib import Path
from typing import Any

import pytest
from data_sets import data_set
from studies import study

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.items.benchmark_rows import read_folder_rows, read_local_rows
from entropy_sentinel.study.items.item_conversion import read_items

ROOT = Path(__file__).parents[3]
PAPER = study()

# Row number and reference of the items made of tests/rows/{benchmark}.jsonl, rows made up for the tests.
MADE_UP = {
    "gsm8k": {0: "42", 1: "2,500", 2: "-7"},
    "svamp": {0: "7", 1: "24"},
    "gsm-symbolic": {0: "13", 1: "8"},
    "math": {0: "56", 1: r"\frac{3}{4}"},
    "theoremqa": {0: "False", 2: "[2, 3]", 3: "False"},
    "scibench": {0: r"2.5 $\mathrm{atm}$", 1: "0.5", 2: r"5 $10^{-7} \mathrm{~m}$", 3: r"$\pi$"},
    "matscibench": {0: "0.01 dimensionless", 1: "0.4 nm", 3: "F / A", 4: "(200, 0.001) (MPa, dimensionless)"},
    "olympiadbench": {0: "$3$, $-3$", 1: "20", 2: "$n(n+1)$ is a product of neighbours.", 3: "Gravity points down."},
    "livemathbench": {0: "$81$", 1: r"$\frac{5}{2}$"},
    "gpqa": {0: "6", 1: "Oxygen"},
}


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `datasets` builds of a folder goes to the test's own."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "built")


def made_up(name: str) -> list[dict[str, Any]]:
    return list(read_local_rows(str(ROOT / "tests" / "rows" / f"{name}.jsonl")))


def test_all_benchmarks_of_the_paper_have_made_up_rows() -> None:
    assert set(MADE_UP) == set(PAPER.run.benchmarks)


@pytest.mark.parametrize(
    ("name", "file"), [*((name, name) for name in MADE_UP), ("matscibench", "matscibench-image-lists")]
)
def test_mapping_of_the_papers_benchmarks(name: str, file: str) -> None:
    rows = made_up(file)
    items, _ = read_items(rows, benchmark_settings(PAPER, name), name)
    assert {int(item["item_id"].removeprefix(f"{name}-")): item["reference"] for item in items} == MADE_UP[name]
    for item in items:
        row = rows[int(item["item_id"][-5:])]
        assert any(item["question"] == str(value).strip() for value in row.values()) or name == "olympiadbench"


def test_questions_of_olympiadbench_come_with_their_context() -> None:
    items, _ = read_items(made_up("olympiadbench"), benchmark_settings(PAPER, "olympiadbench"), "olympiadbench")
    context, question = "A stone falls from rest; take $g = 10$ m/s$^2$.", "What is its speed after 2 s?"
    assert items[1]["question"] == f"{context}\n\n{question}"
    assert items[2]["question"] == "Show that $n^2 + n$ is even."


@pytest.mark.parametrize("name", MADE_UP)
def test_folder_of_a_data_set_gives_the_same_items_as_a_local_file(name: str, tmp_path: Path, built: None) -> None:
    """Configurations and split as the paper's config has them; several configurations share the rows."""
    mapping, rows = benchmark_settings(PAPER, name), made_up(name)
    configs = mapping["configs"] or ["default"]
    share = len(rows) // len(configs)
    parts = {config: rows[n * share : (n + 1) * share] for n, config in enumerate(configs[:-1])}
    parts[configs[-1]] = rows[(len(configs) - 1) * share :]
    folder = data_set(tmp_path / "set", mapping["split"], parts)
    result = read_folder_rows(folder, mapping["configs"], mapping["split"], name)
    assert read_items(result, mapping, name) == read_items(rows, mapping, name)


def test_pictures_of_a_data_set_are_seen_and_not_decoded(tmp_path: Path, built: None) -> None:
    import datasets
    from PIL import Image

    features = datasets.Features(
        {"Question": datasets.Value("string"), "Answer": datasets.Value("string"), "Picture": datasets.Image()}
    )
    rows = made_up("theoremqa")
    rows = [row | {"Picture": Image.new("RGB", (2, 2)) if row["Picture"] else None} for row in rows]
    columns = {name: [row[name] for row in rows] for name in features}
    folder = tmp_path / "set" / "data"
    folder.mkdir(parents=True)
    datasets.Dataset.from_dict(columns, features=features).to_parquet(folder / "test-00000-of-00001.parquet")
    result = list(read_folder_rows(str(tmp_path / "set"), [], "test", "theoremqa"))
    assert [sorted(row["Picture"] or {}) for row in result] == [[], ["bytes", "path"], [], []]
    items, left_out = read_items(result, benchmark_settings(PAPER, "theoremqa"), "theoremqa")
    assert [item["reference"] for item in items] == ["False", "[2, 3]", "False"]
    assert left_out == {"a picture is needed": [1]}


@pytest.mark.parametrize(
    ("configs", "split", "expected"),
    [
        (["socratic"], "test", "owner/sums: configuration socratic, split test .*: BuilderConfig"),
        ([], "tset", "owner/sums: configuration default, split tset .*: Unknown split"),
    ],
)
def test_unknown_configuration_or_split(
    tmp_path: Path, built: None, configs: list[str], split: str, expected: str
) -> None:
    folder = data_set(tmp_path / "set", "test", {"default": made_up("gsm8k")})
    with pytest.raises(InputError, match=expected):
        list(read_folder_rows(folder, configs, split, "owner/sums"))
