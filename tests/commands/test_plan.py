"""What a study will take: figures worked out by hand."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from entropy_sentinel.commands.plan import Cost, forecast, item_counts, plan
from entropy_sentinel.config.config import Config, load_config

PAPER = yaml.safe_load((Path(__file__).parents[2] / "config.yaml").read_text())
RATES = {
    "tokens_per_response": 500,
    "bytes_per_token": 100,
    "tokens_per_s": 1000,
    "engine_start_s": 100,
    "gpu_usd_per_h": 3,
    "judge_usd_per_response": 0.01,
    "estimate_cpu_s": 48,
}
# Two samples of 1,319 + 300 items are 3,238 responses of 500 tokens: 1,619,000 tokens, 161.9 MB.
# 1,619 s of generation and 2 x 100 s of start are 1,819 s of one GPU.
# Groups gsm8k, svamp: 48 configurations each; 2 x 48 s of CPU time.
ONE_GPU = Cost(3238, 1_619_000, 0.1619, 1819 / 3600, 1819 / 3600 * 3 + 32.38, 96 / 3600)


def study(**changes: Any) -> Config:
    """Three models on gsm8k and svamp: one of one GPU, one of two with short responses, one behind an API."""
    raw = deepcopy(PAPER)
    raw["models"] = {
        "one": {"id": "a/one"},
        "two": {"id": "a/two", "engine_args": {"tensor_parallel_size": 2}, "sampling": {"max_tokens": 250}},
        "served": {"api": {"model": "openai/x"}},
    }
    raw["run"] |= {"models": list(raw["models"]), "benchmarks": ["gsm8k", "svamp"], "groups": ["pair"]}
    raw["run"]["sizes"] = [{"size": 1, "configurations": "all"}]
    raw["groups"] = {"pair": {"benchmarks": ["gsm8k"]}}
    raw["generation"] |= {"samples": 2}
    raw["analyses"] = {}
    return load_config(raw | {"rates": RATES} | changes)


def test_costs_by_hand() -> None:
    config = study()
    costs = forecast(config, item_counts(config))
    expected = {
        "one": ONE_GPU,
        # 250 tokens at most: 809,500 tokens; (809.5 + 200) s on two GPUs are 2,019 GPU-seconds.
        "two": Cost(3238, 809_500, 0.08095, 2019 / 3600, 2019 / 3600 * 3 + 32.38, 96 / 3600),
        # No GPU: the labels alone, 3,238 of one cent.
        "served": Cost(3238, 1_619_000, 0.1619, 0, 32.38, 96 / 3600),
    }
    assert list(costs) == list(expected)
    for model, cost in expected.items():
        assert vars(costs[model]) == pytest.approx(vars(cost)), model


def test_limit_bounds_every_benchmark() -> None:
    assert item_counts(study(limit=400)) == {"gsm8k": 400, "svamp": 300}


def without_counts(**settings: Any) -> dict[str, Any]:
    """The two benchmarks without published counts; svamp with other settings."""
    benchmarks = deepcopy(PAPER["benchmarks"])
    for name in ("gsm8k", "svamp"):
        del benchmarks[name]["expected_items"]
    benchmarks["svamp"] = {"question": ["{q}"], "reference": ["{a}"]} | settings
    return benchmarks


def test_items_are_counted_in_local_files_and_earlier_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text('{"q": 1, "a": 2}\n' * 7)
    config = study(benchmarks=without_counts(path="rows.jsonl"))
    assert item_counts(config) == {"gsm8k": None, "svamp": 7}
    made = Path("results/paper/benchmarks/gsm8k.parquet")
    made.parent.mkdir(parents=True)
    pl.DataFrame({"item_id": ["a", "b", "c"]}).write_parquet(made)
    assert item_counts(config) == {"gsm8k": 3, "svamp": 7}


def test_plan_says_what_it_leaves_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = plan(study(benchmarks=without_counts(dataset="a/svamp")))
    assert "number of items is unknown (set expected_items): gsm8k, svamp." in text
    assert "Without what the provider charges for: served." in text


def test_plan_of_the_papers_study_is_a_table_with_totals() -> None:
    text = plan(load_config(PAPER))
    # 11,569 items on nine models, 600 tokens of 80 bytes each: 62.5 million tokens, 5.0 GB.
    # Per model 385 groups with 48 configurations and 10 with one: 385 + 10 / 48 searches of 100 s, 10.70 CPU-hours.
    total = next(line for line in text.splitlines() if line.startswith("total")).split()
    assert total == ["total", "104,121", "62.5", "5.00", "9.19", "22.98", "96.30"]
    assert "unknown" not in text
