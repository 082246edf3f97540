"""The three examples of extensions, outside the project, used together by a real study against local servers."""

import csv
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from fake_api import FakeApi, fake_api, ok
from llama_server import TOO_LONG, UNDECIDED, UNREADABLE, judging_service, llama_server, said, top
from scipy.stats import t as student
from workflow_runs import ROOT, Project

from compared.pairing import paired_difference
from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.judges.judge_interface import Case
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.study.engines.engine_interface import Response
from native_engine.engine import LlamaEngine
from web_judge import judge as web
from web_judge.settings import Web

EXAMPLES = ROOT / "examples" / "extensions"
MODELS, BENCHMARKS, ITEMS = ["good", "bad"], ["sums", "others"], 24
# The copy of the project that is run has this file, too: so no fixed text.
KEY = f"key-{uuid.uuid4().hex}"


# The difference of two models.


def labels(**values: list[bool | None]) -> pl.DataFrame:
    rows = [(item, label) for item, several in values.items() for label in several]
    return pl.DataFrame(rows, schema={"item_id": pl.String, "label": pl.Boolean}, orient="row")


def test_the_difference_is_paired_by_item() -> None:
    first = labels(a=[True], b=[True, False], c=[True], d=[None], e=[True])
    second = labels(c=[False], a=[True], b=[False, False], d=[True], f=[True])
    found = paired_difference(first, second)
    # Of a, b and c both have labels: 1 - 1, 1/2 - 0 and 1 - 0.
    assert found.n_items == 3
    assert found[1:4] == pytest.approx((2.5 / 3, 1 / 3, 0.5))
    half = 4.302653 * 0.5 / 3**0.5
    assert found[4:] == pytest.approx((0.5 - half, 0.5 + half), abs=1e-6)


def test_differences_that_do_not_vary_have_no_interval() -> None:
    assert paired_difference(labels(a=[True], b=[True]), labels(a=[False], b=[False]))[2:] == (0, 1, None, None)
    assert paired_difference(labels(a=[True]), labels(a=[True]))[3:] == (0, None, None)
    assert paired_difference(labels(a=[True]), labels(b=[True])) == (0, None, None, None, None, None)


# The judge.


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FakeApi, dict[str, Any]]]:
    """A service, and the keys of a judge that asks it."""
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path))
    monkeypatch.setenv("WEB_JUDGE_KEY", KEY)
    monkeypatch.setattr(web, "_FIRST_PAUSE_S", 0.01)
    with judging_service(KEY) as api:
        limits = {"concurrency": 3, "timeout_s": 5, "retries": 2}
        yield api, {"address": api.base_url, "variable": "WEB_JUDGE_KEY", **limits}


def case(question: str, response: str = "right") -> Case:
    return Case(question, response, "42", truncated=False)


def test_a_service_is_asked_once_for_each_response(judge: tuple[FakeApi, dict[str, Any]]) -> None:
    api, server = judge
    cases = [case(f"{n}?", "wrong" if n % 3 else "right") for n in range(12)]
    cases += [case("0?"), case("empty", " "), case(UNREADABLE), case(UNDECIDED)]
    verdicts = web.WebJudge("judges.web", "1", server).judge(cases)
    assert [one.label for one in verdicts] == [n % 3 == 0 for n in range(12)] + [True, None, None, None]
    assert "empty" in (verdicts[13].reason or "")
    assert "***" in (verdicts[14].reason or "")
    assert KEY not in repr(verdicts)
    assert {one.reason is None for one in verdicts[:13]} == {True}
    assert (verdicts[15].exchange or {})["messages"][0]["question"] == UNDECIDED
    # 14 different requests, and the busy answer to the first.
    assert len(api.requests) == 15
    assert set(api.keys) == {f"Bearer {KEY}"}
    assert 2 <= api.most_running <= 3
    again = web.WebJudge("judges.web", "1", server | {"concurrency": 1}).judge(cases)
    assert (again, len(api.requests)) == (verdicts, 15)
    web.WebJudge("judges.web", "2", server).judge(cases[:1])
    assert len(api.requests) == 16


def test_a_failed_service_is_named_and_its_replies_are_kept(
    judge: tuple[FakeApi, dict[str, Any]], caplog: pytest.LogCaptureFixture
) -> None:
    api, server = judge
    cases = [case(f"{n}?") for n in range(6)]
    fails = {"5?"}
    well = api.reply
    api.reply = lambda body, n: (500, {}, {"error": KEY}, 0.0) if body["question"] in fails else well(body, n + 1)
    with pytest.raises(EntropySentinelError, match=f"judges.web: {api.base_url}: HTTPStatusError: .*500") as error:
        web.WebJudge("judges.web", None, server).judge(cases)
    assert KEY not in str(error.value) + caplog.text
    before = len(api.requests)
    assert before <= 5 + 3
    fails.clear()
    assert [one.label for one in web.WebJudge("judges.web", None, server).judge(cases)] == [True] * 6
    asked = [body["question"] for body in api.requests]
    assert asked.count("5?") == 4
    assert [asked.count(f"{n}?") for n in range(5)] == [1] * 5


# Judges in a process of its own, which is killed.
JUDGING = """
import json, sys
from entropy_sentinel.judges.judge_interface import Case
from web_judge.judge import WebJudge

cases = [Case(f"{n}?", "right", "42", truncated=False) for n in range(20)]
WebJudge("judges.web", None, json.loads(sys.argv[1])).judge(cases)
"""


def test_a_killed_job_pays_again_only_for_what_was_under_way(judge: tuple[FakeApi, dict[str, Any]]) -> None:
    api, server = judge
    api.reply = lambda body, n: ok({"correct": True}, 0.05)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen([sys.executable, "-c", JUDGING, json.dumps(server)], env=environment)
    while len(api.requests) < 8:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    verdicts = web.WebJudge("judges.web", None, server).judge([case(f"{n}?") for n in range(20)])
    assert [one.label for one in verdicts] == [True] * 20
    assert 20 <= len(api.requests) <= 20 + 3


def test_a_service_that_does_not_answer_in_time(judge: tuple[FakeApi, dict[str, Any]]) -> None:
    api, server = judge
    api.reply = lambda body, n: ok({"correct": True}, 0.5 if n == 0 else 0.0)
    assert web.WebJudge("judges.web", None, server | {"timeout_s": 0.2}).judge([case("?")])[0].label is True
    assert len(api.requests) == 2


def test_settings_of_the_judge_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="without user, password and query"):
        Web(kind="web", address=f"https://me:{KEY}@judge.example.org")
    with pytest.raises(ValueError, match="named like a secret"):
        Web(kind="web", address="https://judge.example.org", variable="JUDGE")
    monkeypatch.delenv("WEB_JUDGE_KEY", raising=False)
    with pytest.raises(ConfigError, match="judges.web.variable: .*WEB_JUDGE_KEY"):
        web.WebJudge("judges.web", None, {"address": "http://x", "variable": "WEB_JUDGE_KEY"})


# The engine.

ASKED = {
    "model": "good",
    "revision": "1",
    "sampling": {"temperature": 0.5, "top_p": 0.9, "max_tokens": 7},
    "chat_template_kwargs": {"thinking": False},
    "keep_top_token_ids": True,
}


def answered(api: FakeApi, prompts: list[Any], seeds: list[int], **server: Any) -> list[Response]:
    engine = LlamaEngine(ASKED, {"url": api.base_url, "concurrency": 3, "timeout_s": 5, "retries": 1} | server)
    assert engine.under_way() == []
    responses = dict(engine.answer(prompts, seeds))
    assert engine.provenance == {
        "engine": "llama",
        "engine_version": "b8681-0c1e57098",
        "logprobs_mode": "raw_logprobs",
    }
    return [responses[position] for position in range(len(prompts))]


def test_the_engine_returns_what_the_server_gives() -> None:
    chat = [{"role": "user", "content": "2 + 2?"}]
    with llama_server("good") as api:
        responses = answered(api, [chat, "Once", TOO_LONG, chat], [5, 2**32, 6, 2**63 - 1])
        asked = {body["prompt"]: body for body in api.requests if "prompt" in body}
        (template, *_) = [body for body in api.requests if "messages" in body]
    assert template == {"messages": chat, "chat_template_kwargs": {"thinking": False}}
    sampling = {"temperature": 0.5, "top_p": 0.9, "n_predict": 7}
    defaults = {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0, "stop": [], "cache_prompt": False, "n_probs": 20}
    assert asked["Once"] == {"prompt": "Once", "seed": 1, **sampling, **defaults}
    prompts = ["<user>2 + 2?", "Once", TOO_LONG, "<user>2 + 2?"]
    for response, prompt, seed in zip(responses, prompts, [5, 1, 6, (2**63 - 1) % (2**32 - 1)], strict=True):
        if prompt == TOO_LONG:
            assert response.finish_reason == "refused: the request exceeds the context"
            continue
        assert response.text == said("good", prompt, seed) == "".join(response.tokens)
        expected = np.array([top(prompt, step) for step in range(3)], np.float32)
        assert (response.top_logprobs == expected).all()
        assert response.token_logprobs.tolist() == expected[[0, 1, 2], [0, 2, 0]].tolist()
        assert response.token_ids.tolist() == [0, 102, 200]
        assert response.top_token_ids[1].tolist() == list(range(100, 120))
        assert response.prompt_tokens == len(prompt)
    assert responses[0].prompt_hash == responses[3].prompt_hash != responses[1].prompt_hash


def test_a_server_of_which_an_answer_is_missing() -> None:
    with (
        fake_api(lambda body, n: (503, {}, {"error": {"message": "Loading model"}}, 0.0)) as api,
        pytest.raises(EntropySentinelError, match=r"models.good.llama: .*/v1/completion: HTTPStatusError: .*503"),
    ):
        answered(api, ["Once"], [1], retries=0)
    with (
        fake_api(lambda body, n: ok({"content": "a", "completion_probabilities": [{"top_logprobs": []}]})) as api,
        pytest.raises(ConfigError, match="models.good.llama: .*20 log-probabilities a token, gave 0"),
    ):
        answered(api, ["Once"], [1])
    with (
        fake_api(lambda body, n: ok({"generated_text": "a"})) as api,
        pytest.raises(
            EntropySentinelError, match=r"models.good.llama: .*/completion: .* form of llama.cpp's: .*content"
        ),
    ):
        answered(api, ["Once"], [1])


# All three in a study.


@dataclass
class Ran:
    """A finished study with its servers."""

    project: Project
    mine: Path
    models: dict[str, FakeApi]
    service: FakeApi
    study: dict[str, Any]

    def results(self, name: str) -> Path:
        return self.project.folder / "results" / "compared" / name

    def n_asked(self) -> int:
        return sum(len(api.requests) for api in (self.service, *self.models.values()))

    def planned(self, **changes: Any) -> dict[str, int]:
        """The jobs of the study with changed keys."""
        path = self.project.folder / "mine.yaml"
        path.write_text(yaml.safe_dump(merge_sections(self.study, changes)))
        try:
            return self.project.planned()
        finally:
            path.write_text(yaml.safe_dump(self.study))


def study(mine: Path, models: dict[str, FakeApi], service: FakeApi) -> dict[str, Any]:
    return {
        "study": "compared",
        "extensions": [str(mine / name) for name in ("compared", "web_judge", "native_engine")],
        "run": {
            "models": MODELS,
            "benchmarks": BENCHMARKS,
            "judges": ["web"],
            "groups": ["sums"],
            "sizes": [],
            "analyses": ["compared"],
        },
        "generation": {"sampling": {"max_tokens": 8}},
        "estimation": {
            "default": "logistic-1d-balanced-isotonic",
            "estimators": ["group-accuracy", "atc-max"],
            "keep": [],
            "groups_per_job": 1,
        },
        "models": {
            name: {"llama": {"url": api.base_url, "concurrency": 4}, "revision": "1"} for name, api in models.items()
        },
        "judges": {
            "web": {"kind": "web", "address": service.base_url, "variable": "WEB_JUDGE_KEY", "revision": "1"},
        },
        "benchmarks": {
            name: {"path": f"{name}.jsonl", "question": ["{question}"], "reference": ["{answer}"]}
            for name in BENCHMARKS
        },
        "groups": {"sums": {"benchmarks": ["sums"], "estimator": "logistic-1d-balanced-isotonic"}},
        "analyses": {"compared": {"estimator": "group-accuracy"}},
    }


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    """A study of two models, a judge and an analysis of extensions that are outside the project."""
    folder = tmp_path_factory.mktemp("extensions")
    mine = shutil.copytree(EXAMPLES, folder / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    project = Project(folder / "project", ["demo/config.yaml", "mine.yaml"])
    for benchmark in BENCHMARKS:
        special = {0: f" {TOO_LONG}", 1: f" {UNREADABLE}", 2: f" {UNDECIDED}"} if benchmark == "others" else {}
        rows = [{"question": f"{benchmark}: {n} + 1?{special.get(n, '')}", "answer": str(n + 1)} for n in range(ITEMS)]
        (project.folder / f"{benchmark}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with (
        pytest.MonkeyPatch.context() as patch,
        llama_server("good") as good,
        llama_server("bad") as bad,
        judging_service(KEY) as service,
    ):
        patch.setenv("ENTROPY_SENTINEL_CACHE", str(folder / "cache"))
        patch.setenv("WEB_JUDGE_KEY", KEY)
        models = {"good": good, "bad": bad}
        result = Ran(project, mine, models, service, study(mine, models, service))
        (project.folder / "mine.yaml").write_text(yaml.safe_dump(result.study))
        (folder / "output.txt").write_text(project.run())
        yield result


def questions(benchmark: str, ran: Ran) -> dict[str, str]:
    """The prompt of each item."""
    items = pl.read_parquet(ran.results(f"benchmarks/{benchmark}.parquet"))
    return dict(items.select("item_id", "question").rows())


@pytest.mark.long
def test_traces_are_those_of_the_server(ran: Ran) -> None:
    for model in MODELS:
        prompts = {body["seed"]: body["prompt"] for body in ran.models[model].requests if "prompt" in body}
        for benchmark in BENCHMARKS:
            path = ran.results(f"generations/{model}/{benchmark}.parquet")
            assert read_provenance(path)["engine_version"] == "b8681-0c1e57098"
            rows = pl.read_parquet(path).rows(named=True)
            assert len(rows) == ITEMS
            for row in rows:
                seed = row["seed"] % (2**32 - 1)
                question = questions(benchmark, ran)[row["item_id"]]
                if TOO_LONG in question:
                    assert row["finish_reason"].startswith("refused: ")
                    continue
                assert question in prompts[seed]
                assert row["text"] == said(model, prompts[seed], seed)
                expected = np.array([top(prompts[seed], step) for step in range(3)], np.float32)
                assert (np.array(row["top_logprobs"], np.float32) == expected).all()


def labels_of(model: str, benchmark: str, ran: Ran) -> dict[str, bool | None]:
    rows = pl.read_parquet(ran.results(f"labels/web/{model}/{benchmark}.parquet"))
    return dict(rows.select("item_id", "label").rows())


@pytest.mark.long
def test_labels_are_those_of_the_service(ran: Ran) -> None:
    for model in MODELS:
        for benchmark in BENCHMARKS:
            found, asked = labels_of(model, benchmark, ran), questions(benchmark, ran)
            texts = pl.read_parquet(ran.results(f"generations/{model}/{benchmark}.parquet"))
            for item, text in texts.select("item_id", "text").rows():
                null = any(word in asked[item] for word in (TOO_LONG, UNREADABLE, UNDECIDED))
                assert found[item] is (None if null else "right" in text)
        exchanges = ran.results(f"labels/web/{model}/others.unreadable.jsonl").read_text().splitlines()
        assert len(exchanges) == 2
        assert all("***" in line for line in exchanges)
    # Each response to an item, and the answer with which the service began.
    assert len(ran.service.requests) == 2 * (2 * ITEMS - 1) + 1


@pytest.mark.long
def test_the_table_is_calculated_from_the_labels(ran: Ran) -> None:
    with ran.results("web/compared/tables/table_compared.csv").open() as file:
        rows = {row["Domain"]: row for row in csv.DictReader(file)}
    for benchmark in BENCHMARKS:
        good, bad = (labels_of(model, benchmark, ran) for model in MODELS)
        both = [item for item in good if good[item] is not None and bad[item] is not None]
        differences = [int(good[item]) - int(bad[item]) for item in both]
        mean, n = statistics.mean(differences), len(both)
        half = student.ppf(0.975, n - 1) * statistics.stdev(differences) / n**0.5
        row = rows[benchmark]
        assert int(row["Items"]) == n == (ITEMS if benchmark == "sums" else ITEMS - 3)
        found = [float(row[name]) for name in ("good", "bad", "Difference", "from", "to")]
        accuracies = [sum(labels[item] for item in both) / n for labels in (good, bad)]
        assert found == pytest.approx([*accuracies, mean, mean - half, mean + half])
    # The accuracy of the training rows is the estimate for the other domain.
    estimated = [float(rows["others"][f"Estimated, {model}"]) for model in MODELS]
    training = []
    for model in MODELS:
        observed = pl.read_parquet(ran.results(f"observations/web/{model}.parquet"))
        training.append(observed.filter(benchmark="sums", split="train")["label"].mean())
    assert estimated == pytest.approx(training)
    assert float(rows["others"]["Estimated difference"]) == pytest.approx(training[0] - training[1])
    assert [rows[name]["Role"] for name in BENCHMARKS] == ["training", "unseen"]
    page = ran.results("web/compared/report.html").read_text()
    assert "good and bad" in page
    assert "table_compared.csv" in page


@pytest.mark.long
def test_only_what_a_change_concerns_is_planned(ran: Ran) -> None:
    n_asked = ran.n_asked()
    assert ran.planned() == {}
    moved = {"address": "http://127.0.0.1:9/judge", "concurrency": 1, "timeout_s": 9, "retries": 0, "variable": None}
    elsewhere = {"url": "http://127.0.0.1:9", "concurrency": 1, "timeout_s": 9, "retries": 0}
    assert ran.planned(judges={"web": moved}, models={"good": {"llama": elsewhere}}) == {}
    later = {"observation": 2, "estimate": 2, "estimator": 2, "compared_page": 1}
    assert ran.planned(judges={"web": {"revision": "2"}}) == {"label": 4, **later}
    of_one = {"generation": 2, "label": 2, "feature": 2, "observation": 1, "estimate": 1, "estimator": 1}
    assert ran.planned(models={"bad": {"revision": "2"}}) == {**of_one, "compared_page": 1}
    assert ran.planned(analyses={"compared": {"estimator": "atc-max"}}) == {"compared_page": 1}
    assert ran.n_asked() == n_asked


@pytest.mark.long
def test_an_edit_of_the_analysis_reruns_only_its_job(ran: Ran) -> None:
    for name in ("compared/pairing.py", "native_engine/engine.py", "web_judge/judge.py"):
        path = ran.mine / name
        text = path.read_text()
        path.write_text(f"{text}\nEDITED = True\n")
        assert ran.planned() == ({"compared_page": 1} if name.startswith("compared") else {})
        path.write_text(text)


@pytest.mark.long
def test_the_key_is_in_no_file(ran: Ran) -> None:
    for path in ran.mine.parent.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path


def in_the_copy(ran: Ran, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """A Python of the copy; `given`, if any, is its input, and the extensions are in its environment."""
    environment = os.environ | {"PYTHONPATH": str(ran.project.folder / "workflow")}
    if given is not None:
        environment["ENTROPY_SENTINEL_EXTENSIONS"] = os.pathsep.join(ran.study["extensions"])
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ran.project.folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
    )


@pytest.mark.long
def test_commands_know_the_extensions(ran: Ran) -> None:
    command, config = ("-m", "entropy_sentinel"), ("-c", "demo/config.yaml", "-c", "mine.yaml")
    # Both start again with the extensions that the study names.
    plan, progress = (in_the_copy(ran, *command, name, *config) for name in ("plan", "progress"))
    assert (plan.returncode, progress.returncode) == (0, 0), plan.stderr + progress.stderr
    assert "Responses: 96; 96 are done" in plan.stdout
    assert "provider's charges for good, bad" in " ".join(plan.stdout.split())
    assert re.search(r"labels\s+4 ", progress.stdout), progress.stdout
    schema = json.loads(in_the_copy(ran, *command, "schema", given="").stdout)
    text = json.dumps(schema)
    assert "where requests are sent" in text
    assert "a llama.cpp server" in text
    assert "differences are the first minus the second" in text


# Studies that planning refuses, and what the error or the line about the part that is left out says.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"judges": {"web": {"kind": "webb"}}}, r"judges.web: must be a section with 'kind': math-verify.* or web"),
    ({"models": {"good": {"llama": {"port": 1}}}}, "models.good.llama: unknown key 'port'; known keys: url,"),
    (
        {"run": {"features": ["tokens", "forced_answer"]}},
        "models.good: run.features has 'forced_answer'.* the engine of 'llama' models cannot be asked by token ids",
    ),
    ({"run": {"models": ["good"]}}, "compared left out because it compares two models, but of run.models only"),
    ({"analyses": {"compared": {"models": ["good", "bed"]}}}, "unknown model in analyses.compared.models: 'bed'"),
    ({"analyses": {"compared": {"estimator": "atc-mac"}}}, "unknown estimator in analyses.compared.estimator:"),
]
LOAD = """
import json, sys
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.section_base import merge_sections

for changes in json.load(sys.stdin):
    try:
        load_config(merge_sections(read_config(["config.yaml", "demo/config.yaml", "mine.yaml"]), changes))
        print("nothing")
    except ConfigError as error:
        print(" ".join(str(error).split()))
"""


@pytest.mark.long
def test_planning_refuses_what_cannot_be(ran: Ran) -> None:
    done = in_the_copy(ran, "-c", LOAD, given=json.dumps([changes for changes, _ in REFUSED]))
    assert done.returncode == 0, done.stderr
    for line, (_, message) in zip(done.stdout.splitlines(), REFUSED, strict=True):
        assert re.search(message, line), line
