"""The config's section `benchmarks`: format strings, references, limits, and the settings that come of it."""

from typing import Any

import pytest
from pydantic import ValidationError
from studies import study

from entropy_sentinel.study.config.config_loading import Config
from entropy_sentinel.study.config.generation_requests import benchmark_settings
from entropy_sentinel.study.items.benchmark_settings import Benchmark
from entropy_sentinel.study.planning.response_cost import count_items

# What every result of the paper's gsm8k was made with so far; another dict, or another order, would make all again.
GSM8K = {
    "version": 1,
    "benchmark": "gsm8k",
    "limit": None,
    "seed": 42,
    "dataset": "openai/gsm8k",
    "configs": ["main"],
    "split": "test",
    "revision": None,
    "path": None,
    "question": ["{question}"],
    "reference": ["{answer}"],
    "reference_after": "####",
    "only_if_empty": [],
}


def limited(limit: int | None = None, own: int | None = None) -> Config:
    """The paper's study with a limit, and one of gsm8k's own."""
    return study({"limit": limit, "benchmarks.gsm8k.limit": own})


@pytest.mark.parametrize(
    "template", ["{q}", "{q[0]}", "{q[a b]}", "{Final Answer [0]}", "{q[a][0][b]}", "${q-1}$ {{x}}"]
)
def test_columns_and_their_parts_are_named_by_key_and_index(template: str) -> None:
    assert Benchmark(path="rows.csv", question=[template]).question == [template]


@pytest.mark.parametrize(
    "template",
    ["{q.upper}", "{q[0].upper}", "{}", "{[0]}", "{q[]}", "{q!r}", "{q:>9}", "{q[0]x}", "q"],
)
def test_nothing_else_can_be_named(template: str) -> None:
    with pytest.raises(ValidationError, match=r"\{column\}, or parts, as \{column\[part\]\}"):
        Benchmark(path="rows.csv", question=[template])


@pytest.mark.parametrize("limit", [0, True, 1.0, "ten"])
def test_a_limit_is_a_whole_number_from_1(limit: Any) -> None:
    with pytest.raises(ValidationError, match="limit"):
        Benchmark(path="rows.csv", question=["{q}"], limit=limit)


def test_settings_that_results_were_made_with_stay_the_same() -> None:
    assert repr(benchmark_settings(limited(), "gsm8k")) == repr(GSM8K)
    assert repr(benchmark_settings(limited(5), "gsm8k")) == repr(GSM8K | {"limit": 5})


def test_a_benchmarks_own_limit_comes_before_the_studys() -> None:
    for limit, own, expected in ((None, 7, 7), (5, 7, 7), (9, 7, 7), (5, None, 5)):
        config = limited(limit, own)
        assert repr(benchmark_settings(config, "gsm8k")) == repr(GSM8K | {"limit": expected})
        assert count_items(config)["gsm8k"] == expected
        assert benchmark_settings(config, "svamp")["limit"] == limit
    assert count_items(limited())["gsm8k"] == 1319
