"""A language model judges a sample of a log, and the monitor uses its verdicts: with a server on this machine."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from calling import run
from fake_api import FakeApi, completion, fake_api, ok, quiet_litellm
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, EntropySentinelError, InputError

sending = pytest.importorskip(
    "entropy_sentinel.llm_client.request_sending", reason="the extra `judge` is not installed", exc_type=ImportError
)
pytestmark = quiet_litellm
N = 120
USAGE = {"prompt_tokens": 11, "completion_tokens": 300, "total_tokens": 311}
PRICES = ("--usd-per-million-input-tokens", "1", "--usd-per-million-output-tokens", "1000")


def is_right(number: int) -> bool:
    return number % 3 > 0


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    """A judge that is wrong about each question whose number ends with 7, and not clear about number 99."""
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "secret-of-the-judge")
    monkeypatch.setattr(sending.Sender, "FIRST_PAUSE_S", 0.01)

    def reply(body: dict, _: int) -> tuple:
        number = int(body["messages"][-1]["content"].split("number ")[1].split("?")[0])
        says = is_right(number) != (number % 10 == 7)
        verdict = "perhaps" if number == 99 else f'{{"success": {str(says).lower()}}}'
        return ok(completion(f"The answer is {number}.\n{verdict}", [], 3))

    with fake_api(reply) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An estimator, a log with questions, and a sample of 100 for the judge and one of 12 for people."""
    records = [line(n, question=f"What is the number {n}?", text=f"It is {n}.") for n in range(N)]
    log = log_file(tmp_path / "log.jsonl", records)
    estimator = saved(tmp_path, "log-3d")
    for name, budget, seed in (("to_judge", 100, 1), ("to_label", 24, 2)):
        es_sample = es.sample(estimator, log, ["route"], budget, seed=seed).responses
        es_sample.write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def number_of(item: str) -> int:
    return int(item.removeprefix("req-"))


def test_from_a_log_to_verdicts_that_the_monitor_uses(api: FakeApi, folder: Path, capsys) -> None:
    out = folder / "verdicts.csv"
    call = (
        "judge",
        folder / "to_judge.csv",
        folder / "to_label.csv",
        "-m",
        "hosted_vllm/j",
        "--base-url",
        api.base_url,
    )
    status, text, errors = run(capsys, *call, *PRICES, "-o", out)
    verdicts, sample = pl.read_csv(out), pl.read_csv(folder / "to_judge.csv")
    people = pl.read_csv(folder / "to_label.csv")
    further = people.join(sample, on="item_id", how="anti")
    assert status == 0
    assert len(further) > 0
    assert len(verdicts) == len(api.requests) == len(sample) + len(further)
    assert f"{len(verdicts)} responses judged by hosted_vllm/j" in text
    # 11 tokens of a prompt and 3 of a reply.
    assert f"for {len(verdicts) * (11 * 1 + 3 * 1000) / 1e6:.4f} US dollars; 0 replies from the cache" in text
    for row in verdicts.iter_rows(named=True):
        number = number_of(row["item_id"])
        assert row["label"] is (None if number == 99 else is_right(number) != (number % 10 == 7))
    assert (verdicts["judge"] == "hosted_vllm/j").all()
    weights = verdicts.join(sample, on="item_id", how="left").select("weight", "weight_right")
    assert weights["weight"].equals(weights["weight_right"], null_equal=True)
    if verdicts.filter(pl.col("label").is_null()).height:
        assert "1 without a verdict: the judge's reply is not a judgement: 'The answer is 99. perhaps'" in errors
    # A second run asks nothing.
    _, text, _ = run(capsys, *call, "-o", out)
    assert f"0 requests answered; {len(verdicts)} replies from the cache" in text
    # What the judge sees: the question and the response, and no reference.
    system, user = api.requests[0]["messages"]
    assert "no answer key" in system["content"]
    assert "# Response\nIt is " in user["content"]
    assert "response_format" not in api.requests[0]
    right = [is_right(number_of(item)) for item in people["item_id"]]
    people.with_columns(label=pl.Series(right)).write_csv(folder / "labelled.csv")
    options = ["--by", "route", "--labels", folder / "labelled.csv", "--judged", out]
    status, text, _ = run(capsys, "monitor", folder / "log-3d.estimator", folder / "log.jsonl", *options)
    assert status == 0
    assert "judge hosted_vllm/j (" in text
    assert "it agrees with the labels on" in text
    status, _, errors = run(
        capsys, "monitor", folder / "log-3d.estimator", folder / "log.jsonl", *options, "--alerts", out
    )
    assert (status, f"--alerts: {out} is an input" in errors) == (1, True)


def test_verdicts_without_a_weight_only_correct_the_judge(api: FakeApi, folder: Path) -> None:
    """The sample's verdicts count for the slice; the others only tell how far the judge is off."""
    tables = [pl.read_csv(folder / f"{name}.csv") for name in ("to_judge", "to_label")]
    verdicts = es.judge(tables, "hosted_vllm/j", base_url=api.base_url)
    right = [is_right(number_of(item)) for item in tables[1]["item_id"]]
    labels = tables[1].with_columns(label=pl.Series(right))
    options = {"by": ["route"], "labels": labels}
    found = es.monitor(folder / "log-3d.estimator", str(folder / "log.jsonl"), judged=verdicts, **options)
    counted = verdicts.filter(pl.col("weight").is_not_null(), pl.col("label").is_not_null())
    assert found.slices["n_judged"].sum() == len(counted)
    both = verdicts.drop_nulls("label").join(labels, on="item_id", how="semi")
    assert found.provenance["judge"][0]["n_labelled"] == len(both) > len(counted.join(both, on="item_id", how="semi"))
    # Verdicts that never had weights are still refused.
    with pytest.raises(InputError, match="judged: .* have no 'weight'"):
        es.monitor(folder / "log-3d.estimator", str(folder / "log.jsonl"), judged=verdicts.drop("weight"), **options)


def test_the_budget_is_kept_and_a_partial_file_represents_the_slices(api: FakeApi, folder: Path, capsys) -> None:
    out, sample = folder / "verdicts.csv", pl.read_csv(folder / "to_judge.csv")
    call = ("judge", folder / "to_judge.csv", "-m", "hosted_vllm/j", "--base-url", api.base_url, "--max-tokens", 10)
    status, _, errors = run(capsys, *call, *PRICES, "--budget-usd", 0.1, "-o", out)
    done = len(api.requests)
    assert (status, 0 < done < 100) == (6, True)
    assert done * (11 + 3000) / 1e6 <= 0.1
    assert "judge: of budget_usd 0.1" in errors
    assert f"{100 - done} of 100 responses have no answer (reason: budget)" in errors
    partial = pl.read_csv(out)
    missing = partial.filter(pl.col("reason") == "budget")
    assert (len(missing), missing["label"].count(), missing["weight"].count()) == (100 - done, 0, 0)
    assert len(partial) == 100
    sizes, raised = (dict(rows.group_by("route").agg(pl.col("weight").sum()).rows()) for rows in (sample, partial))
    assert raised == pytest.approx(sizes)
    # The same command with the next dollars asks only the rest.
    status, text, _ = run(capsys, *call, "-o", out)
    assert (status, f"{100 - done} requests answered; {done} replies from the cache" in text) == (0, True)
    assert pl.read_csv(out)["weight"].equals(sample["weight"])
    status, _, errors = run(capsys, *call, "--budget-usd", 1, "-o", out)
    assert (status, "budget_usd needs usd_per_million_input_tokens" in errors) == (1, True)


def test_a_server_that_fails_halfway_leaves_a_file(api: FakeApi, folder: Path, caplog) -> None:
    reply = api.reply
    api.reply = lambda body, n: reply(body, n) if n < 40 else (401, {}, {"error": {"message": "no key"}}, 0)
    verdicts = es.judge(folder / "to_judge.csv", "hosted_vllm/j", base_url=api.base_url, concurrency=1)
    is_missing = verdicts["reason"] == "server"
    assert verdicts.filter(~is_missing.fill_null(False)).height == 40
    assert "60 of 100 responses have no answer (reason: server)" in caplog.text
    assert "no key" in caplog.text


@pytest.mark.parametrize("way", ["--model", "--second-opinion"])
def test_an_interrupt_leaves_a_file_of_what_was_paid_for(api: FakeApi, folder: Path, capsys, caplog, way: str) -> None:
    """Those under way are waited for; the same command asks the rest. A notebook's cell ends, with all in the cache."""
    reply = api.reply

    def interrupt(body: dict, n: int) -> tuple:
        if n == 30:
            os.kill(os.getpid(), signal.SIGINT)
        return (*reply(body, n)[:3], 0.3 if n >= 30 else 0)

    sample, out = folder / "to_judge.csv", folder / "verdicts.csv"
    options = {"base_url": api.base_url, "concurrency": 2}
    call = ("judge", sample, way, "hosted_vllm/j", "--base-url", api.base_url, "--concurrency", 2, "-o", out)
    api.reply = interrupt
    status, _, errors = run(capsys, *call)
    done = len(api.requests)
    assert (status, 30 < done < 40) == (130, True)
    assert "interrupt to end at once" in caplog.text
    assert f"{100 - done} of 100 responses have no answer (reason: interrupted)" in errors
    partial = pl.read_csv(out)
    assert (partial["reason"] == "interrupted").sum() == 100 - done
    assert partial["weight"].sum() == pytest.approx(pl.read_csv(sample)["weight"].sum())
    api.reply = lambda body, n: interrupt(body, n - done)
    with pytest.raises(KeyboardInterrupt, match=r"\(reason: interrupted\).*from the cache"):
        es.judge(sample, **{way.removeprefix("--").replace("-", "_"): "hosted_vllm/j"}, **options)
    more, api.reply = len(api.requests), reply
    status, text, _ = run(capsys, *call)
    assert (status, f"{100 - more} requests answered; {more} replies from the cache" in text) == (0, True)


def test_the_budget_of_a_plan_pays_for_the_plan(api: FakeApi, folder: Path, capsys) -> None:
    """Each reply has as many tokens as planned: 0.3 cents; the last request may cost 4 cents."""
    reply = api.reply
    prices = {"usd_per_million_input_tokens": 0.001, "usd_per_million_output_tokens": 10.0}
    api.reply = lambda body, n: (*reply(body, n)[:2], reply(body, n)[2] | {"usage": USAGE}, 0)
    plan = es.sample(None, folder / "log.jsonl", ["route"], 20, judge_usd=0.25, judge_reply_tokens=300, **prices)
    assert plan.to_judge is not None
    assert 0.2 < len(plan.to_judge) * 0.003 < 0.25
    plan.to_judge.write_csv(folder / "planned.csv")
    given = [f"--{name.replace('_', '-')}={price}" for name, price in prices.items()]
    call = ("judge", folder / "planned.csv", "-m", "hosted_vllm/j", "--base-url", api.base_url, *given)
    status, _, errors = run(capsys, *call, "--budget-usd", 0.25, "-o", folder / "verdicts.csv")
    assert (status, len(api.requests)) == (0, len(plan.to_judge)), errors


def test_a_prompt_of_ones_own(api: FakeApi, folder: Path) -> None:
    prompt = folder / "prompt.txt"
    prompt.write_text("Is this polite? number {question} / {response}")
    table = pl.read_csv(folder / "to_judge.csv").head(1).with_columns(question=pl.lit("7?"))
    es.judge(table, "hosted_vllm/j", base_url=api.base_url, prompt=prompt)
    [message] = api.requests[0]["messages"]
    assert message == {"role": "user", "content": f"Is this polite? number 7? / {table['response'].item()}"}
    prompt.write_text("Is this polite? {question}")
    with pytest.raises(ConfigError, match=r"prompt.txt must contain the placeholder \{response\}"):
        es.judge(table, "hosted_vllm/j", base_url=api.base_url, prompt=prompt)


def test_responses_without_a_text_are_not_asked_about(api: FakeApi, folder: Path) -> None:
    table = pl.read_csv(folder / "to_judge.csv").head(3)
    table = table.with_columns(question=pl.when(pl.int_range(3) != 1).then("question"))
    verdicts = es.judge(table, "hosted_vllm/j", base_url=api.base_url)
    assert len(api.requests) == 2
    assert verdicts["label"].is_null().to_list() == [False, True, False]
    assert verdicts["reason"][1] == "the log has no question or no response"
    with pytest.raises(InputError, match="needs the texts in 'question' and 'response', which are empty"):
        es.judge(table.with_columns(response=pl.lit(None)), "hosted_vllm/j", base_url=api.base_url)
    with pytest.raises(InputError, match="table 1 has no column 'question'"):
        es.judge(table.drop("question"), "hosted_vllm/j", base_url=api.base_url)


def test_labels_of_people_are_not_overwritten(api: FakeApi, folder: Path, capsys) -> None:
    labelled = folder / "labelled.csv"
    labelled.write_text("item_id,label\nreq-0001,true\n")
    call = ("judge", folder / "to_judge.csv", "-m", "hosted_vllm/j", "--base-url", api.base_url)
    for out, message in ((labelled, "is not a file of verdicts"), (folder / "to_judge.csv", "is an input")):
        before = out.read_text()
        status, _, errors = run(capsys, *call, "-o", out)
        assert (status, message in errors, out.read_text()) == (1, True, before)
    assert not api.requests


def test_a_server_that_refuses_and_a_missing_package_are_told(folder: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sending.Sender, "FIRST_PAUSE_S", 0.01)
    with (
        fake_api(lambda *_: (401, {}, {"error": {"message": "no key"}}, 0)) as api,
        pytest.raises(EntropySentinelError, match=r"\(0 of 100 responses are judged\)"),
    ):
        es.judge(folder / "to_judge.csv", "hosted_vllm/j", base_url=api.base_url)
    monkeypatch.setitem(sys.modules, "entropy_sentinel.judges.llm_judge", None)
    with pytest.raises(ConfigError, match=r"pip install '\.\[judge\]'"):
        es.judge(folder / "to_judge.csv", "hosted_vllm/j")
