"""A study whose labels come from an LLM behind a server: killed in the middle, and never paid for twice."""

import json
import re
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from fake_api import FakeApi, completion, fake_api, ok
from workflow_runs import Project

from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import TOP_K

pytestmark = pytest.mark.long

PRICES = {"usd_per_million_input_tokens": 1, "usd_per_million_output_tokens": 10}
BENCHMARKS = ("one-digit-addition", "percentages")
ITEMS = 60
# The copy of the project that is run has this file, too: so no fixed text.
KEY = f"sk-proj-{uuid.uuid4().hex}"


def study(api: FakeApi, **judge: Any) -> dict[str, Any]:
    return {
        "study": "judged",
        "after": 'echo "$RESULTS $OUTCOME" >> ended.txt',
        "limit": ITEMS,
        "run": {
            "models": ["theirs"],
            "judges": ["llm"],
            "benchmarks": list(BENCHMARKS),
            "groups": [],
            "sizes": [{"size": 1}],
        },
        "models": {"theirs": {"source": "given", "source_logprobs_mode": "raw_logprobs"}},
        "judges": {
            "llm": {"kind": "llm", "model": "hosted_vllm/judge", "base_url": api.base_url, "prompt": "same"} | judge
        },
        "prompts": {"same": {"system": "Judge.", "user": "{question}\n{response}\n{reference}"}},
        "analyses": {"accuracy": {"headline_group": None}},
    }


def write_traces(folder: Path) -> None:
    """Traces of two tokens; the text of each names its item, every third's says `right`."""
    steps = np.tile(-np.arange(1.0, TOP_K + 1), (200, 2, 1))
    for benchmark in BENCHMARKS:
        ids = [f"{benchmark}-{row:05d}" for row in range(200)]
        texts = [f"{name} {'wrong' if row % 3 else 'right'}" for row, name in enumerate(ids)]
        columns = {"item_id": ids, "text": texts, "finish_reason": ["stop"] * 200}
        columns |= {"token_logprobs": steps[:, :, 0].tolist(), "top_logprobs": steps.tolist()}
        folder.mkdir(parents=True, exist_ok=True)
        pl.DataFrame(columns).write_parquet(folder / f"{benchmark}.parquet")


def verdict(body: dict[str, Any], number: int) -> Any:
    """Right is correct; a slow server, so that a kill finds requests under way."""
    text = body["messages"][1]["content"]
    return ok(completion(f'{{"success": {"true" if " right" in text else "false"}}}', [], 9), 0.1)


def asked(body: dict[str, Any]) -> str:
    """The item that a request is about."""
    return re.search(r"[a-z-]+-\d{5}", body["messages"][1]["content"])[0]


def test_labels_of_a_server_survive_a_kill_and_are_paid_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", KEY)
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path / "project", ["demo/config.yaml", "judged.yaml"])
    write_traces(project.folder / "given")
    files = [f"results/judged/labels/llm/theirs/{benchmark}.parquet" for benchmark in BENCHMARKS]
    costs = "results/judged/llm/costs.csv"
    with fake_api(verdict) as api:
        (project.folder / "judged.yaml").write_text(yaml.safe_dump(study(api, **PRICES)))
        project.kill_when(lambda: len(api.requests) >= 30, *files)
        before = len(api.requests)
        assert before < ITEMS * len(BENCHMARKS)
        project.run("--unlock")
        assert KEY not in project.run(*files, costs)
        assert set(api.keys) == {f"Bearer {KEY}"}
        # What was under way at the kill is asked again: at most the judge's concurrency, in each of two jobs.
        assert ITEMS * len(BENCHMARKS) <= len(api.requests) <= ITEMS * len(BENCHMARKS) + 32
        assert {asked(body) for body in api.requests[:before]} <= {asked(body) for body in api.requests}
    for file, benchmark in zip(files, BENCHMARKS, strict=True):
        labels = pl.read_parquet(project.folder / file)
        numbers = labels["item_id"].str.slice(-5).cast(pl.Int64)
        assert labels["label"].to_list() == (numbers % 3 == 0).to_list()
        message = read_provenance(project.folder / file)
        assert (message["model"], message["benchmark"], message["llm"]["model"]) == (
            "theirs",
            benchmark,
            "hosted_vllm/judge",
        )
    table = pl.read_csv(project.folder / costs)
    assert table["model"].to_list() == ["theirs", "theirs", "total"]
    # 11 tokens in and 9 out of every call that was answered; of one that the kill cut off, what it may cost at most.
    total = table.row(2, named=True)
    assert (total["responses"], total["unlabelled"]) == (2 * ITEMS, 0)
    # A reply that was kept and not yet written down at the kill is unanswered too; so is a request not yet sent.
    assert total["calls"] <= 2 * ITEMS
    assert total["calls"] + total["unanswered_calls"] >= len(api.requests)
    assert (total["prompt_tokens"], total["completion_tokens"]) == (11 * total["calls"], 9 * total["calls"])
    answered = total["calls"] * (11 * 1 + 9 * 10) / 1e6
    # 4,096 tokens out, and as many in as the request has bytes: a few hundred.
    most = total["unanswered_calls"] * 4096 * 10 / 1e6
    assert total["usd"] == pytest.approx(answered)
    assert most <= total["unanswered_usd"] <= most * 1.03
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def test_a_budget_stops_a_job_that_more_budget_ends_and_a_prompt_that_changes_judges_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path / "project", ["demo/config.yaml", "judged.yaml"])
    write_traces(project.folder / "given")
    file = f"results/judged/labels/llm/theirs/{BENCHMARKS[0]}.parquet"
    with fake_api(verdict) as api:
        # 0.000101 dollars a call, 0.0415 at most: room for some, and not for all.
        (project.folder / "judged.yaml").write_text(yaml.safe_dump(study(api, **PRICES, budget_usd=0.0445)))
        process = project.start(file)
        output, _ = process.communicate(timeout=300)
        assert "judges.llm: of budget_usd 0.0445, 0.00" in output
        assert "raise budget_usd" in output
        assert process.returncode != 0
        assert (project.folder / "ended.txt").read_text() == "results/judged failure\n"
        assert 20 < len(api.requests) < 40
        raw = study(api)
        (project.folder / "judged.yaml").write_text(yaml.safe_dump(raw))
        project.run(file)
        assert (len(api.requests), project.planned(file)) == (ITEMS, {})
        (project.folder / "judged.yaml").write_text(yaml.safe_dump(study(api, concurrency=2, base_url="http://x/v1")))
        assert project.planned(file) == {}
        raw["prompts"]["same"]["system"] = "Judge well."
        (project.folder / "judged.yaml").write_text(yaml.safe_dump(raw))
        assert project.planned(file) == {"label": 1}
        project.run(file)
        assert len(api.requests) == 2 * ITEMS
        assert json.dumps(api.requests[-1]["messages"]).count("Judge well.") == 1
    assert (project.folder / "ended.txt").read_text() == "results/judged failure\n" + 2 * "results/judged success\n"


@pytest.mark.nightly
def test_judges_that_ask_the_same_server_at_once_pay_for_each_question_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two judges are made of a third, which the run has too: three jobs ask its questions."""
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path / "project", ["demo/config.yaml", "judged.yaml"])
    write_traces(project.folder / "given")
    with fake_api(verdict) as api:
        raw = study(api)
        raw["judges"] |= {
            "cascade": {"kind": "first_of", "judges": ["llm", "math-verify"]},
            "vote": {"kind": "majority", "judges": ["llm", "math-verify", "exact"]},
            "exact": {"kind": "exact"},
        }
        raw["run"]["judges"] = ["llm", "cascade", "vote"]
        (project.folder / "judged.yaml").write_text(yaml.safe_dump(raw))
        files = [f"results/judged/labels/{judge}/theirs/{BENCHMARKS[0]}.parquet" for judge in raw["run"]["judges"]]
        project.run("--cores", "3", *files)
        assert len(api.requests) == len({asked(body) for body in api.requests}) == ITEMS
    by_llm, by_cascade = (pl.read_parquet(project.folder / file)["label"].to_list() for file in files[:2])
    assert by_llm == by_cascade
