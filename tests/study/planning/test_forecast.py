"""What a study will take: figures worked out by hand."""

import json
import os
from copy import deepcopy
from io import StringIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from studies import PAPER, without_api_judges
from study_trees import NOW, make, make_all

from entropy_sentinel.formatting.text_format import format_millions
from entropy_sentinel.rendering.terminal_text import print_parts
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import PROVENANCE_KEY
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.config.config_loading import Config, load_config
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.forecast import Cost, describe_forecast, forecast_costs
from entropy_sentinel.study.planning.job_measurements import compute_job_speed, read_measurements
from entropy_sentinel.study.planning.judge_cost import plan_judging
from entropy_sentinel.study.planning.pass_cost import plan_passes
from entropy_sentinel.study.planning.response_cost import Outlook, count_items, find_model_rates

ROOT = Path(__file__).parents[3]
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
# 1,619 s of generation and one start of 100 s are 1,719 s of one GPU.
# Groups gsm8k, svamp: 48 configurations each; 2 x 48 s of CPU time.
ONE_GPU = Cost(3238, 3238, 1_619_000, 0.1619, 1719 / 3600, 1719 / 3600 * 3 + 32.38, 96 / 3600)


def raw_study() -> dict[str, Any]:
    """Three models on gsm8k and svamp: one of one GPU, one of two with short responses, one behind an API."""
    raw = without_api_judges(PAPER)
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
    return raw | {"rates": RATES}


def study(**changes: Any) -> Config:
    return load_config(raw_study() | changes)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def costs(config: Config) -> dict[str, Cost]:
    outlook = Outlook(config, plan_files(config))
    return forecast_costs(outlook, plan_judging(outlook), plan_passes(outlook))


def text(config: Config) -> str:
    out = StringIO()
    print_parts(describe_forecast(config), out)
    return out.getvalue()


def row(config: Config, name: str) -> list[str]:
    """The cells of a line of the table."""
    return next(line for line in text(config).splitlines() if line.startswith(name)).split()


def test_costs_by_hand() -> None:
    expected = {
        "one": ONE_GPU,
        # 250 tokens at most: 809,500 tokens; (809.5 + 100) s on two GPUs are 1,819 GPU-seconds.
        "two": Cost(3238, 3238, 809_500, 0.08095, 1819 / 3600, 1819 / 3600 * 3 + 32.38, 96 / 3600),
        # No GPU: the labels alone, 3,238 of one cent.
        "served": Cost(3238, 3238, 1_619_000, 0.1619, 0, 32.38, 96 / 3600),
    }
    result = costs(study())
    assert list(result) == list(expected)
    for model, cost in expected.items():
        assert vars(result[model]) == pytest.approx(vars(cost)), model


def test_engines_on_cpus_have_hours_without_a_price() -> None:
    out = StringIO()
    print_parts(describe_forecast(study(), on_cpu=True), out)
    assert "engine-hours" in out.getvalue()
    assert "GPU-hours" not in out.getvalue()
    # As ONE_GPU, without its 3 USD per hour.
    cells = next(line for line in out.getvalue().splitlines() if line.startswith("one")).split()
    assert cells[6:8] == [f"{1719 / 3600:.2f}", "32.38"]


def test_remaining_work_is_estimated_from_finished_files() -> None:
    config = study()
    # Of model `one`, svamp is done: 600 responses, 100 tokens each on average.
    make("results/paper/benchmarks/svamp.parquet", 900)
    path = Path("results/paper/generations/one/svamp.parquet")
    make(path, 800, {"n_tokens": [50, 150] * 300})
    bytes_per_token = path.stat().st_size / 60_000
    # Left: two samples of 1,319 items. One start; labels of all 3,238; both estimates.
    tokens = 2638 * 100
    gpu_h = (tokens / 1000 + 100) / 3600
    expected = Cost(3238, 2638, tokens, tokens * bytes_per_token / 1e9, gpu_h, gpu_h * 3 + 32.38, 96 / 3600)
    assert vars(costs(config)["one"]) == pytest.approx(vars(expected))
    # The others go by the same file.
    assert costs(config)["two"].tokens == 3238 * 100
    assert row(config, "one")[1:4] == ["3,238", "2,638", "100"]
    assert row(config, "one")[-2:] == ["own", "files"]
    assert row(config, "two")[-2:] == ["others'", "files"]
    assert "Responses: 9,714; 600 are done and 9,114 left." in text(config)


def measured(path: str, wall_s: float, cpu_s: float, memory_mb: float, job_log: str = "INFO: done\n") -> None:
    """The measurement of a job and its log."""
    file = Path("logs/paper", path).with_suffix(".tsv")
    file.parent.mkdir(parents=True, exist_ok=True)
    names = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"
    file.write_text(f"{names}\n{wall_s}\t0:00:00\t{memory_mb}\t1\t1\t1\t0\t0\t1\t{cpu_s}\n")
    file.with_suffix(".log").write_text(job_log)


def generated(benchmark: str, resumed: int, tokens: int) -> None:
    """A finished file of model `one`, of which an earlier job has made so many responses."""
    path = Path(f"results/paper/generations/one/{benchmark}.parquet")
    make(path, 800, {"n_tokens": [tokens]})
    provenance = {PROVENANCE_KEY: json.dumps({"resumed_responses": resumed})}
    pl.read_parquet(path).write_parquet(path, metadata=provenance)
    os.utime(path, (NOW - 800, NOW - 800))


def test_a_plan_goes_by_what_finished_jobs_took() -> None:
    """gsm8k: 60,000 tokens in 300 s, 200 tokens/s. What says nothing of a job's speed changes nothing."""
    raw = raw_study() | {"estimation": raw_study()["estimation"] | {"groups_per_job": 1}}
    config = load_config(raw)
    for name in config.run.benchmarks:
        make(f"results/paper/benchmarks/{name}.parquet", 900)
    generated("gsm8k", 0, 60_000)
    measured("generations/one/gsm8k", 300, 5, 900)
    # The search of one of two training groups took 30 CPU-seconds; the other's job ended before it was looked at.
    measured("estimates/math-verify/one/gsm8k", 20, 30, 250)
    Path("logs/paper/estimates/math-verify/one/svamp.tsv").write_text(
        "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
        "0.1\t0:00:00\tNA\tNA\tNA\tNA\tNA\tNA\tNA\tNA\n"
    )
    files = plan_files(config)
    outlook = Outlook(config, files)
    cost = forecast_costs(outlook, plan_judging(outlook), plan_passes(outlook), measured=read_measurements(config))[
        "one"
    ]
    # svamp is left: 2 x 300 responses of as many tokens as a model may write; no start is added.
    assert cost.tokens == 600 * outlook.max_response_tokens("one")
    assert cost.gpu_h == pytest.approx(cost.tokens / 200 / 3600)
    assert cost.estimate_cpu_h == pytest.approx(2 * 30 / 3600)
    shown = text(config)
    assert "one 200 tokens/s with the starts of engines (1 job); 30.00 CPU-seconds per training group" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert ["generations", "1", "300", "300", "5", "900"] in rows
    assert ["estimates", "2", "10", "20", "30", "250"] in rows

    generated("svamp", 40, 60_000)  # 40 of its responses are an earlier job's
    measured("generations/one/svamp", 1, 1, 1)
    speed = compute_job_speed(config, "one", read_measurements(config)["generations"])
    assert (speed.value, speed.n_jobs) == (200, 1)  # type: ignore[union-attr]
    assert compute_job_speed(config, "two", read_measurements(config)["generations"]) is None


def test_a_copied_output_measures_nothing() -> None:
    """The line is the one that `reuse_output` writes; see tests/workflow for a real one."""
    generated("gsm8k", 0, 60_000)
    reused = "INFO x: results/paper/a.parquet: reused from results/b/a.parquet, which has the same settings\n"
    measured("generations/one/gsm8k", 1, 1, 100, reused)
    assert read_measurements(study())["generations"] == []
    assert "Measured by Snakemake" not in text(study())


def with_passes(family: str = "forced_answer", **section: Any) -> Config:
    """The study of its first model, which is asked again about its responses."""
    raw = raw_study()
    raw["models"] = {"one": raw["models"]["one"]}
    raw["run"] |= {"models": ["one"], "features": ["tokens", family]}
    return load_config(raw | {"rates": RATES | {"contexts_per_s": 100}, "signals": {family: section}})


@pytest.mark.parametrize(
    ("family", "section", "contexts", "n"),
    [
        # 3,238 responses of 500 tokens; two kinds of answers after every fifth token.
        ("forced_answer", {"answers": ["own", "reference"], "positions": 5}, 3238 * 500 * 2 / 5, 3238),
        # The first of two samples.
        ("forced_answer", {"samples": 1}, 1619 * 500, 1619),
        ("forced_answer", {"samples": 9}, 3238 * 500, 3238),
        # Three beams for each item, of as many contexts each as a response has tokens; not for each response.
        ("beam_search", {"width": 3}, 1619 * 500 * 3, None),
        # Both responses, each after the prompt alone and after both of them.
        ("iterative_prompting", {"samples": 2}, 3238 * 500 * 3, None),
    ],
)
def test_requests_of_a_pass_by_hand(family: str, section: dict[str, Any], contexts: float, n: int | None) -> None:
    """At 100 contexts a second; the pass is one more job that starts the engine."""
    if family not in FAMILIES:
        pytest.skip("the analysis of this family is not installed")
    config = with_passes(family, **section)
    again = costs(config)["one"].gpu_h - ONE_GPU.gpu_h
    assert again == pytest.approx((contexts / 100 + RATES["engine_start_s"]) / 3600)
    message = " ".join(text(config).split())
    assert n is None or f"forced_answer asks the model again about {n:,} responses" in message
    assert f"{contexts / 1e6:.2f} million contexts, {again:.2f} of the GPU-hours" in message


def test_imported_passes_and_models_that_cannot_be_asked_take_no_time(tmp_path: Path) -> None:
    for name in ("gsm8k", "svamp", "passes/forced_answer/gsm8k", "passes/forced_answer/svamp"):
        make(tmp_path / f"{name}.parquet", 10)
    raw = with_passes().model_dump(exclude_unset=True)
    given = {"source": str(tmp_path), "source_passes": str(tmp_path / "passes")}
    for models in ({"one": given}, {"one": given, "two": {"source": str(tmp_path)}}):
        config = load_config(raw | {"models": models, "run": raw["run"] | {"models": list(models)}})
        assert "asks again" not in text(config)
        assert costs(config)["one"].gpu_h == 0
        assert len(config.left_out) == len(models) - 1


def test_finished_parts_of_a_running_pass_are_done() -> None:
    config = with_passes()
    output = Path("results/paper/passes/forced_answer/one/svamp.parquet")
    rows = {"model": ["one"] * 6, "benchmark": ["svamp"] * 6, "item_id": list("aabbcc"), "sample": [0] * 6}
    make(f"{output}.parts/part-000-000000-x.parquet", 10, rows)
    assert "asks the model again about 3,235 responses" in " ".join(text(config).split())
    make(output, 10)
    for name in ("benchmarks/svamp", "generations/one/svamp"):
        make(f"results/paper/{name}.parquet", 20, {"n_tokens": [500] * 600})
    assert "asks the model again about 2,638 responses" in " ".join(text(config).split())


def test_finished_parts_of_a_running_job_are_done() -> None:
    make("results/paper/generations/one/svamp.parquet.parts/part-000-000000.parquet", 60, 256)
    assert costs(study())["one"].left == 3238 - 256


def test_a_finished_study_needs_no_time() -> None:
    config = study()
    make_all(config)
    assert vars(sum(costs(config).values(), Cost())) == vars(Cost(responses=600))


def test_rates_of_a_model_override_the_general_ones() -> None:
    models = {
        "one": {"id": "a/one", "rates": {"tokens_per_response": 900}},
        "two": {"id": "a/two"},
        "served": {"api": {"model": "openai/x"}},
    }
    config = study(models=models)
    rates = find_model_rates(config, plan_files(config))
    assert (rates["one"][0].tokens_per_response, rates["one"][0].tokens_per_s) == (900, 1000)
    assert rates["two"][0].tokens_per_response == 500
    # Another model's files tell more than what is said of all, and less than what is said of this one.
    make("results/paper/generations/two/svamp.parquet", 800, {"n_tokens": [200]})
    rates = find_model_rates(config, plan_files(config))
    lengths = {model: (result.tokens_per_response, origin) for model, (result, origin) in rates.items()}
    assert lengths == {"one": (900, "config"), "two": (200, "own files"), "served": (200, "others' files")}


def test_the_plan_says_which_speeds_were_measured_and_where() -> None:
    """As `make bench-gpu` writes them, for a model with weights; a server's speed is no matter of a GPU."""
    assert "All speeds are assumptions" in text(study())
    measured = {"tokens_per_s": 4000, "engine_start_s": 40, "source": "A GPU, made-up weights"}
    raw = raw_study()
    raw["models"]["one"]["rates"] = measured
    config = load_config(raw)
    shown = text(config)
    assert "Speed of one: measured, A GPU, made-up weights." in shown
    assert "The speeds of two are assumptions" in shown
    assert "served are" not in shown
    # 1,619,000 tokens at 4,000 a second and a start of 40 s.
    assert costs(config)["one"].gpu_h == pytest.approx((1_619_000 / 4000 + 40) / 3600)


def test_limit_bounds_every_benchmark() -> None:
    assert count_items(study(limit=400)) == {"gsm8k": 400, "svamp": 300}


def without_counts(**settings: Any) -> dict[str, Any]:
    """The two benchmarks without published counts; svamp with other settings."""
    benchmarks = deepcopy(PAPER["benchmarks"])
    for name in ("gsm8k", "svamp"):
        del benchmarks[name]["expected_items"]
    benchmarks["svamp"] = {"question": ["{q}"], "reference": ["{a}"]} | settings
    return benchmarks


def test_items_are_counted_in_local_files_and_earlier_results() -> None:
    Path("rows.jsonl").write_text('{"q": 1, "a": 2}\n' * 7)
    config = study(benchmarks=without_counts(path="rows.jsonl"))
    assert count_items(config) == {"gsm8k": None, "svamp": 7}
    # Nine usable items in the source, of which an earlier limit left two.
    rows = {"item_id": ["a", "b"], "question": ["?", "?"], "reference": ["1", "2"], "duplicate_of": ["a", "b"]}
    made = Path("results/paper/benchmarks/gsm8k.parquet")
    BENCHMARKS.write(BENCHMARKS.frame(rows), made, {"items_in_source": 9})
    assert count_items(config) == {"gsm8k": 9, "svamp": 7}
    made.write_bytes(b"damaged")
    assert count_items(config) == {"gsm8k": None, "svamp": 7}


def test_the_plan_names_what_it_omits() -> None:
    shown = text(study(benchmarks=without_counts(dataset="a/svamp")))
    assert "(set expected_items): gsm8k, svamp." in shown
    assert "provider's charges for served." in shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        *((0, "0.0"), (1_500, "0.0015"), (60_000, "0.06"), (157_000, "0.16"), (994_999, "0.99")),
        *((995_001, "1.0"), (999_999, "1.0"), (1_000_000, "1.0"), (123_456_789, "123.5")),
    ],
)
def test_a_few_tokens_are_not_shown_as_0(count: int, shown: str) -> None:
    assert format_millions(count) == shown


def test_plan_of_the_papers_study_is_a_table_with_totals() -> None:
    config = load_config(PAPER)
    # 11,569 items on eight models of 600 tokens each and one of 1,200, 80 bytes each: 69.4 million tokens, 5.55 GB.
    # 6.94 million tokens at 5200, 5900, 5000, 5000, 2500, 2500, 2500, 1700 per second, 13.9 million at 5600: 20,180 s;
    # 9 starts of 90 s: 810 s; together 5.83 hours at 2.50 USD.
    # The judge reads 11,569 x (600 + 200) tokens of eight models and (1,200 + 200) of one at 0.2 USD a million, and
    # replies with 300 at 0.5: 8 x 3.586 + 4.975 = 33.67 USD.
    # Per model 385 groups with 48 configurations and 10 with one: 385 + 10 / 48 searches of 5 s, 0.535 CPU-hours, and
    # the 4 named groups for the labels of the second judge, 0.0056.
    assert row(config, "total") == ["total", "104,121", "104,121", "69.4", "5.55", "5.83", "48.24", "4.87"]
    page = (ROOT / "docs" / "paper.md").read_text()
    assert [
        number for number in ("5.55 GB", "5.83 hours", "14.57 USD", "33.67 USD", "4.87 hours") if number not in page
    ] == []
    assert "unknown" not in text(config)
    assert text(config).isascii()
