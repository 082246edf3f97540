"""How much work a job does, by its rule and wildcards."""

from pathlib import Path

import pytest
from item_files import write_items

from entropy_sentinel.config.config import load_config, read_config
from entropy_sentinel.jobs.terminal import Work

ROOT = Path(__file__).parents[2]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Work:
    """The demo's (11 benchmarks), with 3 samples per item, 4 items of one benchmark, a damaged file of another."""
    raw = read_config([ROOT / "config.yaml", ROOT / "demo" / "config.yaml"])
    raw["generation"]["samples"] = 3
    monkeypatch.chdir(ROOT)
    config = load_config(raw, "test")
    monkeypatch.chdir(tmp_path)
    items = Path("results/demo/benchmarks")
    items.mkdir(parents=True)
    Path(write_items(items, [f"averages-0000{n}" for n in range(4)])).rename(items / "averages.parquet")
    (items / "remainders.parquet").write_bytes(b"")
    return Work(config, {"a+b": ("ppl", "mlp"), "c": ("ppl",)}, {"estimate": ["{group}"], "estimate_1": ["c", "a+b"]})


@pytest.mark.parametrize(
    ("rule", "wildcards", "amount"),
    [
        ("benchmark", {"benchmark": "averages"}, (4, "items")),
        ("generation", {"model": "tiny-1m", "benchmark": "averages"}, (12, "responses")),
        ("label", {"judge": "j", "model": "tiny-1m", "benchmark": "averages"}, (12, "responses")),
        ("feature", {"model": "tiny-1m", "benchmark": "averages"}, (12, "responses")),
        ("estimate", {"judge": "j", "model": "tiny-1m", "group": "a+b"}, (22, "estimates")),
        ("estimate_1", {"judge": "j", "model": "tiny-1m"}, (33, "estimates")),
        ("label_served", {"judge": "j", "model": "tiny-1m"}, None),
        ("report", {"judge": "j"}, None),
        ("generation", {"model": "tiny-1m", "benchmark": "remainders"}, None),
        ("generation", {"model": "tiny-1m", "benchmark": "percentages"}, None),
    ],
)
def test_work_of_a_job(work: Work, rule: str, wildcards: dict[str, str], amount: tuple[int, str] | None) -> None:
    assert work(rule, wildcards) == amount


def test_a_served_judge_labels_all_benchmarks_of_a_model(work: Work) -> None:
    items = Path("results/demo/benchmarks/averages.parquet")
    for file in (ROOT / "demo" / "benchmarks").glob("*.jsonl"):
        items.with_name(f"{file.stem}.parquet").write_bytes(items.read_bytes())
    assert work("label_served", {"judge": "j", "model": "tiny-1m"}) == (11 * 4 * 3, "responses")


def test_rules_whose_work_is_counted_are_those_of_the_workflow() -> None:
    assert "for rule_name, batch in ESTIMATE_BATCHES" in (ROOT / "workflow/rules/estimate.smk").read_text()
    for rule in ("benchmark", "generation", "label", "feature"):
        assert f" as {rule} with:\n" in (ROOT / "workflow" / "rules" / f"{rule}.smk").read_text()
    assert " as label_served with:\n" in (ROOT / "workflow" / "rules" / "label.smk").read_text()
