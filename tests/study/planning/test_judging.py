"""What is left to judge and what it costs: figures worked out by hand."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from study_trees import make, make_all, small_study

from entropy_sentinel.judges.judge_base import make_account
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms
from entropy_sentinel.rendering.terminal_text import print_parts
from entropy_sentinel.study.config.config_loading import Config, load_config
from entropy_sentinel.study.config.generation_requests import get_ledger_path
from entropy_sentinel.study.config.label_requests import judge_settings
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.forecast import describe_forecast, forecast_costs
from entropy_sentinel.study.planning.judge_cost import Judging, plan_judging
from entropy_sentinel.study.planning.response_cost import Outlook

PRICES = {"usd_per_million_input_tokens": 2.0, "usd_per_million_output_tokens": 10.0}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def study(**judge: Any) -> Config:
    """Two models on two benchmarks of 100 items, judged by a server; responses of 600 tokens and replies of 300."""
    raw = small_study()
    raw["judges"] |= {"grok": {"kind": "llm", "max_tokens": 1000, **judge}}
    raw["run"] |= {"judges": ["math-verify", "grok"]}
    return load_config(raw)


def found(config: Config) -> list[Judging]:
    return plan_judging(Outlook(config, plan_files(config)))


def text(config: Config) -> str:
    out = StringIO()
    print_parts(describe_forecast(config), out)
    return out.getvalue()


def test_before_the_first_request_the_plan_uses_rates() -> None:
    """200 responses with 600 + 200 tokens in and 300 out; at most 2,048 + 200 in and 1,000 out."""
    usd, most = 200 * (800 * 2 + 300 * 10) / 1e6, 200 * (2248 * 2 + 1000 * 10) / 1e6
    config = study(**PRICES)
    expected = Judging("grok", "qwen3-4b", 200, 200, 160_000, 60_000, pytest.approx(usd), pytest.approx(most))
    assert found(config)[0] == expected
    assert [one.model for one in found(config)] == ["qwen3-4b", "qwen3-8b"]
    # The study's total has it beside the GPU-hours.
    outlook = Outlook(config, plan_files(config))
    costs = forecast_costs(outlook, plan_judging(outlook), [])
    assert costs["qwen3-4b"].usd == pytest.approx(costs["qwen3-4b"].gpu_h * 2.5 + usd)


def test_a_member_of_a_combined_judge_is_planned_for_its_most_requests() -> None:
    raw = study(**PRICES).model_dump(mode="json", exclude_unset=True)
    raw["judges"]["both"] = {"kind": "first_of", "judges": ["math-verify", "grok"]}
    raw["run"] |= {"judges": ["both"]}
    judged = found(load_config(raw))[0]
    assert (judged.judge, judged.left, judged.prompt_tokens) == ("grok", 200, 160_000)


def test_cached_replies_are_done_and_predict_the_tokens_of_others() -> None:
    """Of gsm8k's 100 responses 40 are judged, at 500 tokens in and 30 out; other settings' calls are no progress."""
    config = study(**PRICES, budget_usd=5)
    book = Ledger(get_ledger_path(config, "judges.grok"), Terms(*PRICES.values()))
    own = make_account(judge_settings(config, "grok")["llm"], "qwen3-4b", "gsm8k")
    for name, calls in ((own, 40), ("qwen3-4b/gsm8k/another", 60)):
        for _ in range(calls):
            book.settle(book.reserve(name, 1000, 1000), 500, 30)
    judged = found(config)[0]
    assert (judged.left, judged.prompt_tokens, judged.completion_tokens) == (160, 80_000, 4800)
    assert judged.usd == pytest.approx(160 * (500 * 2 + 30 * 10) / 1e6)
    # 100 calls of 0.0013.
    assert "Judge grok: budget 5.00 USD, 0.13 are spent." in text(config)


def test_labelled_responses_are_done() -> None:
    config = study(**PRICES)
    make_all(config)
    assert [(one.responses, one.left, one.usd) for one in found(config)] == [(200, 0, 0), (200, 0, 0)]
    # One file of labels is older than the responses that it is about.
    make("results/paper/labels/grok/qwen3-4b/gsm8k.parquet", 90_000)
    assert [one.left for one in found(config)] == [100, 0]


def test_a_judge_without_prices_has_no_dollars() -> None:
    shown = text(study())
    assert found(study())[0].usd is None
    assert "Judge grok has no prices: set usd_per_million_input_tokens" in shown
    line = next(line for line in shown.splitlines() if line.startswith("grok"))
    assert line.split() == ["grok", "qwen3-4b", "200", "200", "0.16", "0.06", "-", "-"]


def test_a_study_without_an_llm_judge_has_no_line_about_judges() -> None:
    assert "To judge by" not in text(load_config(small_study()))
