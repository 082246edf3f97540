"""How far a study is, how fast, and how long it will take, on a made-up tree of results."""

import os
from io import StringIO
from pathlib import Path

import pytest
import yaml
from study_trees import NOW, make, make_all, small_study

from entropy_sentinel.rendering.terminal_text import print_parts
from entropy_sentinel.study.config.config_loading import Config, load_config
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.response_cost import count_responses
from entropy_sentinel.study.planning.study_pace import (
    Amount,
    count_jobs,
    describe_progress,
    measure_speed,
    sum_responses,
)

ROOT = Path(__file__).parents[3]
RESULTS = Path("results/paper")
GENERATIONS = RESULTS / "generations"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Two models on gsm8k and svamp, 100 items each, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(yaml.safe_dump(small_study()))
    return load_config(small_study())


def generated(config: Config) -> Amount:
    return sum_responses(count_responses(config, plan_files(config)).values(), NOW)


def lines(config: Config) -> dict[str, list[str]]:
    """Each line of the table, split, by its first word."""
    out = StringIO()
    print_parts(describe_progress(config, plan_files(config), NOW), out)
    return {line.split()[0]: line.split()[1:] for line in out.getvalue().splitlines() if line.strip()}


def test_empty_folder_has_nothing_done(config: Config) -> None:
    assert [amount.done for amount in count_jobs(plan_files(config), NOW).values()] == [0] * 9
    assert generated(config) == Amount(0, 400, None)
    assert generated(config).left_s is None


def test_responses_count_finished_files_and_parts(config: Config) -> None:
    for benchmark in ("gsm8k", "svamp"):
        make(RESULTS / f"benchmarks/{benchmark}.parquet", 6000, 100)
    make(GENERATIONS / "qwen3-4b/gsm8k.parquet", 5000, 100)
    parts = GENERATIONS / "qwen3-4b/svamp.parquet.parts"
    make(parts / "part-000-000000.parquet", 2000, 6)  # of an earlier run, out of the window
    make(parts / "part-001-000001.parquet", 160, 10)
    make(parts / "part-001-000002.parquet", 110, 20)
    make(parts / "part-001-000003.parquet", 60, 20)
    (parts / "part-001-000004.parquet").write_bytes(b"cut off")
    amount = generated(config)
    # 40 responses in the 100 s from the first to the last part of the window; 400 - 156 are left.
    assert (amount.done, amount.total) == (156, 400)
    os.remove(parts / "part-001-000004.parquet")
    amount = generated(config)
    assert amount.speed == pytest.approx(0.4)
    assert amount.left_s == pytest.approx(244 / 0.4)
    assert count_jobs(plan_files(config), NOW)["generations"] == Amount(1, 4, None)


def test_the_total_follows_existing_files(config: Config) -> None:
    make_all(config)
    make(GENERATIONS / "qwen3-4b/gsm8k.parquet", 4940, 80)  # traces made elsewhere may lack items
    assert generated(config) == Amount(380, 380, None)


def test_speed_starts_at_the_first_event_of_the_window() -> None:
    # 300, 200 and 100 s ago: the amounts of the last two in 300 s; the one of 700 s ago is out of the window.
    events = [(NOW - 100, 7), (NOW - 300, 9), (NOW - 200, 5), (NOW - 700, 1)]
    assert measure_speed(events, NOW) == 12 / 300
    assert measure_speed(events, NOW, until=NOW - 100) == 12 / 200
    assert measure_speed(events[:1], NOW) is None
    assert measure_speed([], NOW) is None


def test_speed_ends_with_the_work() -> None:
    # One every 20 s, the last 60 s ago: still counted after three times that, and a minute; not a second later.
    events = [(NOW - 100, 1), (NOW - 80, 1), (NOW - 60, 1)]
    assert measure_speed(events, NOW) == 2 / 100
    assert measure_speed(events, NOW + 1) is None


def test_no_remaining_time_is_shown_if_nothing_will_come(config: Config) -> None:
    """All was made in the last minutes, one feature file is deleted, nothing waits for it."""
    make_all(config, age_s=480)
    (RESULTS / "features/qwen3-4b/gsm8k.parquet").unlink()
    assert lines(config)["features"] == ["4", "of", "4", "-", "done"]
    assert {line[-1] for stage, line in lines(config).items() if stage not in ("Study", "done")} == {"done"}


def test_a_report_without_a_benchmark_is_not_done(config: Config) -> None:
    make_all(config)
    assert lines(config)["report"] == ["1", "of", "1", "-", "done"]
    assert lines(load_config(small_study(["gsm8k", "math", "svamp"])))["report"] == ["0", "of", "1", "-", "-"]


def test_text_names_stages_speed_and_time_left(config: Config) -> None:
    for number, benchmark in enumerate(("gsm8k", "svamp")):
        make(RESULTS / f"benchmarks/{benchmark}.parquet", 5000, 100)
        make(GENERATIONS / f"qwen3-4b/{benchmark}.parquet", 1000, 100)
        make(RESULTS / f"labels/math-verify/qwen3-4b/{benchmark}.parquet", 120 - 60 * number, 100)
    assert lines(config)["benchmarks"] == ["2", "of", "2", "-", "done"]
    # One label in the 120 s since the first: two more take 4 minutes.
    assert lines(config)["labels"] == ["2", "of", "4", "0.5", "4", "min"]
    assert lines(config)["responses"] == ["200", "of", "400", "-", "-"]


def test_damaged_files_are_named(config: Config) -> None:
    make_all(config)
    path = RESULTS / "estimates/math-verify/qwen3-8b/svamp.parquet"
    path.write_bytes(b"PAR1 and no more")
    os.utime(path, (NOW - 4700, NOW - 4700))
    result = lines(config)
    assert result["estimates"] == ["3", "of", "4", "-", "-"]
    assert result[f"{path}:"][:3] == ["cannot", "be", "read;"]
