"""A second opinion on a sample: a model that is asked again, or the log of one that was asked the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from calling import run
from fake_api import FakeApi, completion, fake_api, ok, quiet_litellm, refusal
from production import line, log_file, saved

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, EntropySentinelError, InputError

sending = pytest.importorskip(
    "entropy_sentinel.llm_client.request_sending", reason="the extra `judge` is not installed", exc_type=ImportError
)
pytestmark = quiet_litellm
MODEL = "hosted_vllm/strong"
PRICES = ("--usd-per-million-input-tokens", "1", "--usd-per-million-output-tokens", "1000")
# What the second model answers, by the end of the question.
ANSWERS = {"France?": "Paris.", "Italy?": "Rome", "Peru?": "", "7 * 8?": "7 * 8 = 56", "Chad?": "I cannot say."}
CUT = "Chad?"


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "secret-of-the-model")
    monkeypatch.setattr(sending.Sender, "FIRST_PAUSE_S", 0.01)

    def reply(body: dict, _: int) -> tuple:
        question = body["messages"][-1]["content"].strip()
        if question.endswith("Spain?"):
            return refusal("It was filtered: content_policy_violation", "invalid_request_error")
        body = completion(ANSWERS[question.rsplit(" of ")[-1]], [], 3)
        if question.endswith("Italy?") and "Oslo" in question:
            body["choices"][0]["finish_reason"] = "length"
        return ok(body)

    with fake_api(reply) as server:
        yield server


def conversation(*contents: str, system: str | None = None) -> str:
    """The column `messages` of a sample: the turns of user and assistant, after a system prompt."""
    turns = [{"role": ("user", "assistant")[n % 2], "content": content} for n, content in enumerate(contents)]
    return json.dumps(([{"role": "system", "content": system}] if system else []) + turns)


def sample(**columns: list[Any]) -> pl.DataFrame:
    """A sample of responses to questions about capitals."""
    questions = [
        "The capital of France?",
        "The capital of Italy?",
        "The capital of Peru?",
        "7 * 8?",
        "Capital of Chad?",
    ]
    responses = ["It is Paris.", "Milan", "Lima", "The result is 56", "I cannot say."]
    return pl.DataFrame(
        {"item_id": list("abcde"), "weight": [2.0] * 5, "question": questions, "response": responses} | columns
    )


def test_asks_the_identical_conversation_once(api: FakeApi, tmp_path: Path, capsys: Any) -> None:
    rows = sample().with_columns(
        messages=pl.Series(
            [conversation("The capital of France?", system="Answer in one word."), *[None] * 3]
            + [conversation("Hello", "Yes?", "Capital of Chad?")]
        )
    )
    rows = pl.concat([rows, rows.head(1).with_columns(item_id=pl.lit("f"), response=pl.lit("Lyon"))])
    rows.write_csv(tmp_path / "sample.csv")
    call = ("judge", tmp_path / "sample.csv", "--second-opinion", MODEL, "--base-url", api.base_url, *PRICES)
    status, text, errors = run(capsys, *call, "-o", tmp_path / "opinions.csv")
    assert status == 0
    opinions = pl.read_csv(tmp_path / "opinions.csv")
    assert opinions["label"].to_list() == [True, False, None, True, True, False]
    assert opinions["answer"].to_list() == ["Paris.", "Rome", None, "7 * 8 = 56", "I cannot say.", "Paris."]
    assert opinions["comparable"].to_list() == [True] * 6
    assert opinions["reason"].to_list() == [None, None, "the second model's reply is empty", None, None, None]
    assert (set(opinions["judge"]), set(opinions["witness"])) == ({MODEL}, {"second-opinion"})
    assert opinions["weight"].to_list() == [2.0] * 6
    # Five questions are asked for six responses; 11 tokens of a prompt and 3 of a reply.
    assert [request["temperature"] for request in api.requests] == [0] * 5
    by_question = {request["messages"][-1]["content"]: request["messages"] for request in api.requests}
    assert by_question["The capital of France?"][0] == {"role": "system", "content": "Answer in one word."}
    assert [message["content"] for message in by_question["Capital of Chad?"]] == ["Hello", "Yes?", "Capital of Chad?"]
    assert by_question["7 * 8?"] == [{"role": "user", "content": "7 * 8?"}]
    assert "3 of 5 agree (0.600); 5 can be compared by their text; 1 without an answer" in text
    assert f"5 requests answered, for {5 * (11 + 3 * 1000) / 1e6:.4f} US dollars; 0 replies from the cache" in text
    assert "3 questions asked without a system prompt or earlier turns" in errors
    _, text, _ = run(capsys, *call, "-o", tmp_path / "opinions.csv", "--json")
    assert json.loads(text) | {"notices": None} == {
        "agree": 3, "disagree": 2, "without": 1, "comparable": 5, "usd": 0.0, "notices": None,
        "interrupted": None, "missing": 0,
    }  # fmt: skip
    assert len(api.requests) == 5


@pytest.mark.parametrize("has_estimator", [True, False])
def test_a_sample_has_the_conversations_of_its_log(has_estimator: bool, tmp_path: Path) -> None:
    def draw(**columns: Any) -> pl.DataFrame:
        log = log_file(tmp_path / "log.jsonl", [line(n, question=f"Number {n}?", **columns) for n in range(40)])
        estimator = saved(tmp_path, "log-3d") if has_estimator else None
        return es.sample(estimator, log, ["route"], 20).responses

    messages = [{"role": role, "content": role} for role in ("system", "user")]
    drawn = draw(messages=messages)
    assert {text: json.loads(text) for text in drawn["messages"]} == {json.dumps(messages): messages}
    assert "messages" not in draw().columns
    # Likewise the reference answer, wherever the log has it.
    for columns in ({"target": 5}, {"metadata": {"reference": "5"}}, {"request": {"metadata": {"expected": ["5"]}}}):
        assert draw(**columns)["reference"].unique().to_list() == ["5"]
    assert "reference" not in draw(reference=" ", expected=None, target=True).columns


def test_responses_that_cannot_be_asked_about_say_why(api: FakeApi) -> None:
    image = [{"role": "user", "content": "The capital of France?", "omitted": ["image_url"]}]
    tool = [{"role": "user", "content": "Hello"}, {"role": "tool", "content": "5"}]
    rows = sample(
        response=["It is Paris.", "Milan", None, "<think>7 times", "no idea"],
        question=["The capital of France?", "Oslo is the capital of Italy?", "7 * 8?", "7 * 8?", "Capital of Spain?"],
        messages=[json.dumps(image), None, None, None, None],
    )
    rows = pl.concat([rows, rows.head(2).with_columns(item_id=pl.col("item_id") + "2")])
    rows = rows.with_columns(
        messages=pl.when(pl.col("item_id") == "a2")
        .then(pl.lit(json.dumps(tool)))
        .when(pl.col("item_id") == "b2")
        .then(pl.lit("[{]"))
        .otherwise("messages")
    )
    opinions = es.judge(rows, second_opinion=MODEL, base_url=api.base_url)
    assert opinions["label"].null_count() == len(rows)
    assert opinions["reason"].to_list() == [
        "its request has parts that are not text: image_url",
        "the second model's reply is truncated at its largest length",
        "the log has no question or no response",
        "the logged response has no answer",
        "the second model's server refuses: It was filtered: content_policy_violation",
        "its request has parts that are not text: tool",
        "column 'messages' must be a JSON list of messages with role and content",
    ]
    assert opinions["comparable"].to_list() == [True, True, False, False, True, True, True]
    assert len(api.requests) == 2
    with pytest.raises(InputError, match="no response can be asked about"):
        es.judge(rows.head(1), second_opinion=MODEL, base_url=api.base_url)


@pytest.mark.parametrize(
    ("error", "n_tries"),
    [(refusal("unsupported value: temperature"), 1), ((500, {}, {"error": {"message": "it failed"}}, 0.0), 7)],
    ids=["rejected", "failed"],
)
def test_a_model_without_temperature_is_asked_without_it(
    error: Any, n_tries: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sending.Sender, "FIRST_PAUSE_S", 0.001)

    def reply(body: dict, _: int) -> tuple:
        return error if "temperature" in body else ok(completion("Paris", [], 3))

    with fake_api(reply) as api:
        for _ in range(2):
            opinions = es.judge(sample(), second_opinion=MODEL, base_url=api.base_url, concurrency=1)
    # One request shows that the temperature is refused; then each is asked once, and the second run asks nothing.
    assert ["temperature" in request for request in api.requests] == [*[True] * n_tries, *[False] * 5]
    assert opinions["label"].to_list() == [True, False, False, False, False]


def test_the_budget_is_kept(api: FakeApi, tmp_path: Path, capsys: Any) -> None:
    sample().write_csv(tmp_path / "sample.csv")
    call = ("judge", tmp_path / "sample.csv", "--second-opinion", MODEL, "--base-url", api.base_url, "--max-tokens", 10)
    status, _, errors = run(capsys, *call, *PRICES, "--budget-usd", 0.015, "-o", tmp_path / "out.csv")
    done = len(api.requests)
    opinions = pl.read_csv(tmp_path / "out.csv")
    assert (status, 0 < done < 5) == (6, True)
    assert "of budget_usd 0.015" in errors
    assert f"({done} of 5 questions are answered)" in errors
    is_missing = (opinions["reason"] == "budget").fill_null(False)
    assert (is_missing.sum(), opinions["weight"].sum()) == (5 - done, pytest.approx(5 * 2.0))
    # Not even one request fits, so nothing was paid for.
    status, _, errors = run(capsys, *call, *PRICES, "--budget-usd", 0.0001, "-o", tmp_path / "no.csv", "--max-tokens=9")
    assert (status, (tmp_path / "no.csv").exists(), "(0 of 5" in errors) == (1, False, True)


@pytest.mark.parametrize(
    "ways", [{}, {"model": "m", "second_opinion": "m"}, {"second_opinion": "m", "agrees_with": "x"}]
)
def test_exactly_one_witness(ways: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="exactly one of model"):
        es.judge(sample(), **ways)


def log_record(number: int, question: str, answer: str, **more: Any) -> dict[str, Any]:
    """A record of the other model's log, without log-probabilities."""
    body = completion(answer, [], 3) | {"id": f"other-{number}", "model": more.pop("model", "strong")}
    body["choices"][0]["finish_reason"] = more.pop("finish_reason", "stop")
    system = more.pop("system", None)
    messages = json.loads(conversation(*more.pop("earlier", ()), question, system=system))
    return {"request": {"messages": messages} | more.pop("request", {}), "response": body} | more


def write_log(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def test_joins_the_log_of_another_model_by_question(tmp_path: Path, capsys: Any) -> None:
    rows = sample(messages=[*[None] * 4, conversation("Hello", "Yes?", "Capital of Chad?", system="Be kind.")])
    rows.write_csv(tmp_path / "sample.csv")
    log = write_log(
        tmp_path / "other.jsonl",
        log_record(1, " The capital of France? ", "Lyon", time="2026-01-03T00:00:00Z"),
        log_record(2, "The capital of France?", "Paris", time="2026-01-02T00:00:00Z", system="Be brief."),
        log_record(3, "The capital of Italy?", "Milan", time="2026-01-01T00:00:00Z"),
        log_record(4, "The capital of Italy?", "Rome", time="2026-01-02T00:00:00Z", request={"temperature": 0}),
        log_record(5, "The capital of Peru?", "It is", finish_reason="length"),
        # The same words in another conversation are another question.
        log_record(6, "Capital of Chad?", "N'Djamena"),
    )
    status, text, errors = run(
        capsys, "judge", tmp_path / "sample.csv", "--agrees-with", log, "-o", tmp_path / "opinions.csv"
    )
    assert status == 0
    opinions = pl.read_csv(tmp_path / "opinions.csv")
    assert opinions["answer"].to_list() == ["Paris", "Rome", None, None, None]
    assert opinions["label"].to_list() == [True, False, None, None, None]
    nothing = "the other model's log has no answer to this question"
    truncated = "the second model's reply is truncated at its largest length"
    assert opinions["reason"].to_list() == [None, None, truncated, nothing, nothing]
    assert set(opinions["judge"]) == {"strong"}
    assert "1 of 2 agree (0.500)" in text
    assert f"2 without a comparison: {nothing}" in errors
    assert "requests answered" not in text
    turns = log_record(7, "Capital of Chad?", "I cannot say.", earlier=("Hello", "Yes?"))
    with_turns = write_log(tmp_path / "turns.jsonl", turns)
    assert es.judge(rows, agrees_with=with_turns)["label"].to_list() == [*[None] * 4, True]


def test_joins_traces_by_id(tmp_path: Path) -> None:
    """Traces of the pipeline have ids of questions and no texts of them."""
    rows = sample().drop("question")
    table = pl.DataFrame(
        {
            "item_id": ["a", "b", "a", "x"],
            "text": ["Paris", "Rome", "Lyon", "Oslo"],
            "model": ["strong"] * 4,
            "finish_reason": ["stop"] * 4,
            "token_logprobs": [[-0.1]] * 4,
            "top_logprobs": [[[-0.1]]] * 4,
        }
    )
    opinions = es.judge(rows, agrees_with=table)
    assert opinions["label"].to_list() == [True, False, None, None, None]
    assert opinions["answer"].to_list() == ["Paris", "Rome", None, None, None]
    # An id with another question is another id.
    asked = table.with_columns(question=pl.Series(["The capital of Italy?", "b", "b", "b"]))
    assert es.judge(sample(), agrees_with=asked)["answer"].to_list() == [None, "Paris", None, None, None]


def test_an_id_of_another_benchmark_is_another_question() -> None:
    """Without questions, the id `a` of the benchmark `A` says nothing of that of `B`."""
    table = pl.DataFrame({"item_id": ["a", "b"], "text": ["Paris", "Rome"], "benchmark": ["A", "B"]})
    table = table.with_columns(
        model=pl.lit("strong"), finish_reason=pl.lit("stop"), token_logprobs=[-0.1], top_logprobs=[[-0.1]]
    )
    rows = sample(benchmark=["B"] * 5)
    asked = table.with_columns(question=pl.Series(["The capital of France?", "x"]))
    for answers, expected in ((table, [None, "Rome", None, None, None]), (asked, ["Paris", *[None] * 4])):
        drawn = rows if "question" in answers.columns else rows.drop("question")
        assert es.judge(drawn, agrees_with=answers)["answer"].to_list() == expected


def test_what_cannot_be_joined_is_told(tmp_path: Path) -> None:
    other = write_log(tmp_path / "other.jsonl", log_record(1, "The capital of Oz?", "Emerald City"))
    with pytest.raises(InputError, match=r"'a', 'b', 'c'; of the logs: 'other-1'.*of France\?'.*of Oz\?'"):
        es.judge(sample(), agrees_with=other)
    two = write_log(
        tmp_path / "two.jsonl",
        log_record(1, "The capital of France?", "Paris", model="strong"),
        log_record(2, "The capital of France?", "Lyon", model="weak"),
    )
    with pytest.raises(InputError, match=r"several models \(.*agrees_with_model"):
        es.judge(sample(), agrees_with=two)
    opinions = es.judge(sample(), agrees_with=two, agrees_with_model="weak")
    assert (opinions["judge"][0], opinions["answer"][0]) == ("weak", "Lyon")
    # A log of both models: the other one is meant.
    watched = sample(model=["strong"] * 5)
    assert es.judge(watched, agrees_with=two)["judge"][0] == "weak"
    with pytest.raises(InputError, match="no answer of 'medium'; models: "):
        es.judge(sample(), agrees_with=two, agrees_with_model="medium")


def test_the_watched_models_own_log_is_noticed(tmp_path: Path, capsys: Any) -> None:
    sample().write_csv(tmp_path / "sample.csv")
    own = [log_record(n, *texts) for n, texts in enumerate(sample().select("question", "response").rows())]
    log = write_log(tmp_path / "own.jsonl", *own)
    _, _, errors = run(capsys, "judge", tmp_path / "sample.csv", "--agrees-with", log, "-o", tmp_path / "out.csv")
    assert "all 5 answers of strong are the same texts as the logged responses" in errors


def test_errors_of_the_server_name_the_progress(api: FakeApi) -> None:
    api.reply = lambda *_: (401, {}, {"error": {"message": "no key"}}, 0.0)
    with pytest.raises(EntropySentinelError, match=r"judge: .*\(0 of 5 questions are answered\)"):
        es.judge(sample(), second_opinion=MODEL, base_url=api.base_url)
