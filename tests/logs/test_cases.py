"""Logs in forms that people have, made small; each has twelve tokens a response unless the test says otherwise."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.logs.log_summary import LogSummary

CASES = Path(__file__).parent / "cases"


def read(path: Path, **options: Any) -> tuple[pl.DataFrame, LogSummary]:
    logs = es.open_logs(path, **options)
    frames = list(logs)
    return (pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame()), logs.summary


def numbers_in(name: str, *keys: str) -> list[float]:
    """The values of a field in the text of a file, in order."""
    found: list[float] = []

    def walk(value: Any) -> None:
        if isinstance(value, list):
            for part in value:
                walk(part)
        elif isinstance(value, dict):
            for key, part in value.items():
                if key in keys and isinstance(part, list | int | float):
                    found.extend(part if isinstance(part, list) else [part])
                elif key != "top_logprobs":
                    walk(part)

    for line in (CASES / name).read_text().splitlines():
        text = line.removeprefix("data:").strip()
        if text.startswith(("{", "[")) and text != "[DONE]":
            walk(json.loads(text))
    return found


@pytest.mark.parametrize(
    ("name", "n", "key"),
    [
        ("lists_in_chat.jsonl", 2, "token_logprobs"),  # Together, Fireworks, llama-cpp-python, older vLLM
        ("content_filter.txt", 2, "logprob"),  # Azure: chunks without choices, or only with a filter's results
        ("text_chunks.txt", 2, "token_logprobs"),
        ("responses_deltas.txt", 2, "logprob"),
        ("two_finish_chunks.txt", 2, "logprob"),
        ("chunks_per_line.jsonl", None, "logprob"),
        ("arrays_per_line.jsonl", 6, "logprob"),
        ("tokens_endpoint.jsonl", 2, "logprob"),
        ("null_alternatives.jsonl", 2, "logprob"),
    ],
)
def test_all_tokens_of_all_replies(name: str, n: int | None, key: str) -> None:
    frame, summary = read(CASES / name, strict=True)
    expected = numbers_in(name, key)
    n = n or len(frame)
    assert (len(frame), summary.n_bad, summary.tokens) == (n, 0, 12 * n)
    np.testing.assert_allclose(np.concatenate(frame["token_logprobs"].to_list()), expected[: 12 * n], atol=1e-6)
    assert es.features(frame)["reason"].to_list() == [None] * n
    assert set(frame["finish_reason"]) <= {"stop"}


def test_what_cannot_be_read_is_named_and_nothing_after_it_is_lost(tmp_path: Path) -> None:
    reply = json.loads((CASES / "lists_in_chat.jsonl").read_text().splitlines()[0])
    one, path = json.dumps(reply), tmp_path / "log.jsonl"
    for text, where in (
        (f"{one[:-300]}\n{one}\n[{one}]", "line 1"),  # cut off by a kill
        (f'[{one}]\n[{one}, 7, {{"a": }}]\n{one}', "line 2, entry 2"),
        (f"{one}\nnonsense\n[{one}]\n{one}", "line 2"),
        (f'{one}\n{{\n  "choices": [\n    oops\n  ]\n}}\n{one}', "line 2"),
    ):
        path.write_text(text)
        frame, summary = read(path)
        # The same reply again counts once.
        assert (len(frame), summary.twice) == (1, text.count(one) - 1), text
        assert summary.bad[0].where == f"{path}: {where}"
        with pytest.raises(InputError, match=where):
            read(path, strict=True)
    path.write_text(f"[{one},\n{one}")
    frame, summary = read(path)
    assert (len(frame), summary.bad) == (
        1,
        [(f"{path}: entry 3", "the file ends within an array, so it may be truncated")],
    )


def test_streams_without_ids_that_are_mixed_are_refused_with_their_number() -> None:
    frame, summary = read(CASES / "interleaved_without_ids.txt")
    assert (len(frame), summary.n_bad) == (0, 1)
    assert "2 streams without an id are mixed" in summary.bad[0].problem


def test_a_body_that_is_a_streams_text(tmp_path: Path) -> None:
    text = (CASES / "two_finish_chunks.txt").read_text().split('\ndata: {"id": "s1"')[0]
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"request": {"model": "m"}, "response": text}))
    same, _ = read(CASES / "two_finish_chunks.txt")
    assert read(path)[0]["token_logprobs"].to_list() == same["token_logprobs"].head(1).to_list()


def test_a_number_in_place_of_log_probabilities_is_refused_in_words(tmp_path: Path) -> None:
    part = {"index": 0, "delta": {"content": "a"}, "logprobs": -0.5, "finish_reason": None}
    path = tmp_path / "log.txt"
    path.write_text("data: " + json.dumps({"id": "s", "object": "chat.completion.chunk", "choices": [part]}))
    _, summary = read(path)
    assert "the `logprobs` of a chunk must be an object with `content`, got float" in summary.bad[0].problem


def test_the_prompts_tokens_of_an_echo_are_left_out(tmp_path: Path) -> None:
    frame, _ = read(CASES / "echo.jsonl", strict=True)
    records = [json.loads(line) for line in (CASES / "echo.jsonl").read_text().splitlines()]
    for row, record in zip(frame.iter_rows(named=True), records, strict=True):
        lists, n = record["choices"][0]["logprobs"], record["usage"]["prompt_tokens"]
        assert row["token_logprobs"] == pytest.approx(lists["token_logprobs"][n:])
        assert row["text"] == "".join(lists["tokens"][n:])
    del records[0]["usage"]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(records[0]))
    assert "request `echo: false`" in read(path)[1].bad[0].problem


def test_reasoning_in_a_list_of_its_own_counts_and_can_be_left_out() -> None:
    record = json.loads((CASES / "reasoning.jsonl").read_text().splitlines()[0])
    logprobs = record["choices"][0]["logprobs"]
    thought = [step["logprob"] for step in logprobs["reasoning_content"]]
    said = [step["logprob"] for step in logprobs["content"]]
    frame, _ = read(CASES / "reasoning.jsonl")
    assert frame["token_logprobs"][0].to_list() == pytest.approx(thought + said)
    after, _ = read(CASES / "reasoning.jsonl", trace_after="</think>")
    assert after["trace_start"][0] == len(thought)
    assert es.features(after)["nll_sum"][0] == pytest.approx(-sum(said), abs=1e-5)


def test_null_and_minus_infinity_are_a_probability_of_0(tmp_path: Path) -> None:
    sampled, top = [-0.5, -0.25], [[-0.5, -1.5, None], [-0.25, -2.0, -3.0]]
    infinite = [[-np.inf if value is None else value for value in step] for step in top]
    frame = pl.DataFrame({"token_logprobs": [sampled], "top_logprobs": [top], "text": ["x"]})
    nested = frame.with_columns(
        top_logprobs=pl.col("top_logprobs").list.eval(pl.element().list.eval(pl.struct(logprob=pl.element())))
    )
    frame.write_parquet(tmp_path / "flat.parquet")
    nested.write_parquet(tmp_path / "nested.parquet")
    (tmp_path / "log.jsonl").write_text(json.dumps({"token_logprobs": sampled, "top_logprobs": top, "text": "x"}))
    expected = es.features({"token_logprobs": sampled, "top_logprobs": infinite, "text": "x"}).select(FEATURES).row(0)
    assert None not in expected
    for given in (frame, nested, *(es.read_logs(path) for path in sorted(tmp_path.iterdir()))):
        assert es.features(given).select(FEATURES).row(0) == pytest.approx(expected), given


def test_a_table_of_dicts_reads_like_its_lines() -> None:
    lines, arrow = (read(CASES / f"dict_per_token.{form}", strict=True)[0] for form in ("jsonl", "parquet"))
    rows = ["item_id", "token_logprobs", "top_logprobs", "top_k_returned"]
    for a, b in zip(lines.select(rows).rows(), arrow.select(rows).rows(), strict=True):
        assert a[0] == b[0]
        np.testing.assert_allclose(a[1], b[1], atol=6e-5)
        np.testing.assert_allclose(a[2], b[2], atol=6e-5)
        assert a[3] == b[3]
    in_memory = es.read_logs(pl.read_parquet(CASES / "dict_per_token.parquet"))
    assert in_memory["token_logprobs"].to_list() == arrow["token_logprobs"].to_list()


@pytest.mark.parametrize("reason", ["tool_calls", "function_call", "tool_use"])
def test_a_call_of_a_tool_ends_an_answer(reason: str) -> None:
    reply = json.loads((CASES / "lists_in_chat.jsonl").read_text().splitlines()[0])
    reply["choices"][0]["finish_reason"] = reason
    assert es.read_logs(reply)["finish_reason"].to_list() == ["stop"]


def test_half_precision_is_recognised_tolerated_and_said() -> None:
    frame, summary = read(CASES / "half_precision.parquet")
    assert summary.facts["rounded to bfloat16"] == len(frame) == 3
    assert es.features(frame)["reason"].to_list() == [None] * 3
    sums = [np.exp(step).sum() for step in frame["top_logprobs"].explode()]
    assert max(sums) > 1.001  # more than the rounding of other logs


def test_a_reply_that_was_logged_twice_counts_once(tmp_path: Path) -> None:
    """By its id, text and log-probabilities; another answer to the same item is another sample."""
    row = {"id": "a", "text": "4", "token_logprobs": [-0.5], "top_logprobs": [[-0.5, -1.0]], "route": "x"}
    other = {**row, "text": "5"}
    lines = [row, other, row, {**row, "route": "y"}, {**row, "id": "b"}]
    bare = {name: value for name, value in row.items() if name != "id"}
    nameless = [bare, bare, {**bare, "route": "z"}]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, [*lines, *nameless])))
    frame, summary = read(path)
    assert frame["item_id"].to_list()[:3] == ["a", "a", "b"]
    assert frame["sample"].to_list()[:3] == [0, 1, 0]
    assert (len(frame), summary.twice, summary.equal) == (6, 2, 1)
    kept = dict(summary.format_rows())
    assert (kept["logged twice (counted once)"], kept["equal in every column, without an id"]) == ("2", "1")
    assert es.features(es.read_logs(path)).equals(es.read_features(path))
    copy = tmp_path / "copy.jsonl"
    copy.write_text(path.read_text())
    assert len(es.read_features([path, copy]).filter(pl.col("item_id").is_in(["a", "b"]))) == 3


# What each sample of `tests/logs/samples` below says: two responses of these three tokens.
SAMPLED = [-0.2, -0.05, -1.1]
TOP = [[-0.2, -2.0, -3.5], [-0.05, -3.4, -5.0], [-0.6, -1.1, -3.2]]
LOGS = Path(__file__).parent / "samples"
SERVERS = {
    # id, model, time, question, route; null where the format has none
    "gemini": ("g0", "gemini-2.0-flash-001", "2026-11-01T10:00:00Z", None, None),
    "ollama": (None, "qwen3:4b", "2026-11-01T10:00:00Z", None, None),
    "tgi": (None, None, None, None, None),
    "sglang": ("s0", None, None, None, None),
    "llama_cpp": (None, "tiny.gguf", None, None, None),
    "langchain": ("chatcmpl-0", "gpt-4o-mini-2024-07-18", None, None, None),
    "langchain_dump": ("chatcmpl-0", "gpt-4o-mini-2024-07-18", None, None, None),
    "langchain_data": ("chatcmpl-0", "gpt-4o-mini-2024-07-18", None, None, None),
    "nemo": (None, None, None, "How many apples? (0)", None),
    "ray": (None, None, None, "How many apples?", None),
    "openinference": ("0x0", "m-1", "2025-11-24 16:00:00+00:00", "How many apples? (0)", "billing"),
    "mlflow": ("sp-0", "m-1", None, "How many apples? (0)", "billing"),
    "weave": ("w0", "m-1", "2025-11-24 16:00:00+00:00", "How many apples? (0)", "billing"),
    "langsmith": ("r0", "gpt-4o-mini-2024-07-18", "2026-11-01T10:00:00Z", "How many apples? (0)", "billing"),
    "gateway": ("h0", "m-1", "2025-11-24 16:00:00+00:00", "How many apples? (0)", "billing"),
    "raw_response": ("chatcmpl-0", "m-1", "2025-11-24 16:00:00+00:00", None, None),
    "otlp": ("sp-0", "m-1", "2025-11-24 16:00:00+00:00", "How many apples? (0)", "billing"),
    "mlflow_traces": ("sp-0", "m-1", "2025-11-24 16:00:00+00:00", "How many apples? (0)", "billing"),
    "braintrust": ("bt-0", "m-1", "2026-11-01T10:00:00Z", "How many apples? (0)", "billing"),
    "gemini_batch": ("row-0", "gemini-2.0-flash-001", "2026-11-01T10:00:00Z", None, None),
    "bedrock_batch": ("rec-0", "m-1", "2025-11-24 16:00:00+00:00", "How many apples? (0)", None),
    "bedrock_log": ("req-0", "m-1", "2026-11-01T10:00:00Z", "How many apples? (0)", "billing"),
    "spans": ("sp-0", "m-1", "2026-11-01T10:00:00Z", "How many apples? (0)", "billing"),
    "watsonx": (None, "m-1", "2026-11-01T10:00:00Z", None, None),
    "pydantic_ai": ("chatcmpl-0", "m-1", "2026-11-01T10:00:00Z", "How many apples? (0)", None),
    "ai_sdk": ("chatcmpl-0", "m-1", "2026-11-01T10:00:00Z", None, None),
    "llm_logs": ("01l0", "m-1", "2026-11-01T10:00:00Z", "How many apples? (0)", None),
    "any_logprobs": ("a0", "m-1", None, "How many apples? (0)", "billing"),
    "nested": ("u0", "m-1", "2025-11-24 16:00:00+00:00", "How many apples? (0)", "billing"),
    "litellm_spend_logs": ("s0", "m-1", "2026-11-01 10:00:00.123", "How many apples? (0)", "billing"),
}


@pytest.mark.parametrize("name", SERVERS)
def test_servers_own_formats_and_replies_inside_records(name: str) -> None:
    [path] = LOGS.glob(f"{name}.json*")
    frame, summary = read(path, columns=("question", "time", "metadata.route"))
    assert (len(frame), summary.n_bad, summary.unusable) == (2, 0, {})
    for row in frame.iter_rows(named=True):
        assert row["text"] == " four apples."
        assert row["token_logprobs"] == pytest.approx(SAMPLED)
        assert [list(step) for step in row["top_logprobs"]] == [pytest.approx(step) for step in TOP]
        assert row["tokens"] in (None, [" four", " apples", "."])
        assert row["finish_reason"] in ("stop", "length", "unknown")
    identity, model, time, question, route = SERVERS[name]
    first = frame.row(0, named=True)
    assert first["item_id"] == (identity or f"{name}-00000")
    assert first["model"] == (model or "(not named)")
    if time is not None:
        assert str(first["time"]) == time
    assert (first.get("question"), first.get("metadata.route")) == (question, route)


def test_a_reply_without_the_mark_of_its_end_is_whole(tmp_path: Path) -> None:
    whole = json.loads((LOGS / "llama_cpp.jsonl").read_text().splitlines()[0])
    del whole["stop"]
    (tmp_path / "a.jsonl").write_text(json.dumps(whole) + "\n" + json.dumps(whole))
    assert read(tmp_path / "a.jsonl")[0]["n_tokens"].to_list() == [3, 3]


def test_a_stream_that_the_file_cuts_off_is_interrupted(tmp_path: Path) -> None:
    lines = (LOGS / "ollama.jsonl").read_text().splitlines()
    (tmp_path / "cut.jsonl").write_text("\n".join(lines[:-2]))
    frame, summary = read(tmp_path / "cut.jsonl")
    assert frame["n_tokens"].to_list() == [3, 2]
    assert summary.facts["interrupted stream"] == 1


def test_a_body_of_any_server_may_be_in_a_pair(tmp_path: Path) -> None:
    body = json.loads((LOGS / "gemini.jsonl").read_text().splitlines()[0])
    asked = {"contents": [{"role": "user", "parts": [{"text": "How many?"}]}]}
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"request": asked, "response": body, "route": "faq"}))
    frame, _ = read(tmp_path / "pairs.jsonl", columns=("question", "route"))
    assert frame.row(0, named=True)["token_logprobs"] == pytest.approx(SAMPLED)
    assert (frame["question"][0], frame["route"][0]) == ("How many?", "faq")


@pytest.mark.parametrize("as_text", [True, False])
def test_reply_and_request_name_columns_of_any_record(tmp_path: Path, as_text: bool) -> None:
    whole = json.loads((LOGS / "weave.jsonl").read_text().splitlines()[0])
    parts = [json.dumps(whole[name]) if as_text else whole[name] for name in ("output", "inputs")]
    record = {"call": {"steps": [{"answer": parts[0]}]}, "asked": parts[1], "team": "a"}
    (tmp_path / "mine.jsonl").write_text(json.dumps(record) + "\n" + json.dumps({"team": "b"}))
    given = {"reply": "call.steps[0].answer", "request": "asked"}
    frame, summary = read(tmp_path / "mine.jsonl", **given, columns=("question", "team"))
    assert frame.row(0, named=True)["token_logprobs"] == pytest.approx(SAMPLED)
    assert (frame["question"][0], frame["team"][0]) == ("How many apples? (0)", "a")
    assert [bad.problem for bad in summary.bad] == ["has no reply in call.steps[0].answer; fields: team"]
    assert es.read_logs(record, **given)["n_tokens"].to_list() == [3]


def test_errors_of_servers_are_refused_requests(tmp_path: Path) -> None:
    bodies = [
        {"object": "error", "message": "too long", "type": "BadRequestError", "code": 400},
        {"detail": "too long"},
        {"error_code": "LIMIT", "message": "too long"},
        {"error": {"message": "too long", "code": 429}, "user_id": "u"},
        {"code": 500, "message": "too long"},
        "too long",
        None,
    ]
    records = [{"request": {"model": "m"}, "response": body, "status": 400} for body in bodies]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, records)))
    frame, summary = read(tmp_path / "a.jsonl")
    assert frame["finish_reason"].to_list() == ["refused: too long"] * 6 + ["refused: status 400"]
    assert summary.n_bad == 0
    # A known form of an error needs no status.
    records = [{"request": {"model": "m"}, "response": body} for body in bodies]
    (tmp_path / "b.jsonl").write_text("\n".join(map(json.dumps, records)))
    frame, summary = read(tmp_path / "b.jsonl")
    assert frame["finish_reason"].to_list() == ["refused: too long"] * 5
    assert summary.n_bad == 2


def test_columns_that_name_people_are_not_offered(tmp_path: Path) -> None:
    whole = json.loads((LOGS / "gateway.jsonl").read_text().splitlines()[0])
    people = {"requester": "ann", "user": "u-1", "email": "x", "client_ip": "10.0.0.1", "sent_by": "ann@example.org"}
    (tmp_path / "a.jsonl").write_text(json.dumps(whole | people | {"tier": "free"}))
    frame, _ = read(tmp_path / "a.jsonl")
    assert not set(people) & set(frame.columns)
    assert frame["tier"][0] == "free"
    assert read(tmp_path / "a.jsonl", columns=("requester",))[0]["requester"][0] == "ann"


def test_a_sample_without_output_failed(tmp_path: Path) -> None:
    frame, summary = read(CASES / "inspect_without_output.json")
    assert frame["finish_reason"].to_list()[1:3] == ["no output"] * 2
    assert (frame["n_tokens"].to_list(), summary.n_bad) == ([12, 0, 0, 12], 0)


def harness(number: int, verdict: float, **more: object) -> dict[str, Any]:
    asked = {"gen_args_0": {"arg_0": f"Question: q {number}\nAnswer:", "arg_1": {"until": ["\n"]}}}
    sample = {"doc_id": number, "arguments": asked, "metrics": ["exact_match"], "exact_match": verdict}
    return sample | {"resps": [["a"]]} | more


def test_samples_of_the_harness_are_labels_joined_by_question(tmp_path: Path) -> None:
    path = tmp_path / "samples_gsm8k.jsonl"
    path.write_text("\n".join(json.dumps(harness(number, float(number % 2))) for number in range(40)))
    labels = es.read_labels(path)
    assert labels.row(1, named=True) == {"item_id": "1", "label": True, "asked": "Question: q 1\nAnswer:"}
    rng = np.random.default_rng(0)
    rows = []
    for number in range(40):
        steps = -np.sort(-np.log(rng.dirichlet(np.ones(5), size=6)[:, :4]))
        trace = {"token_logprobs": steps[:, 0].tolist(), "top_logprobs": steps.tolist()}
        rows.append({"prompt": f"Question: q {number}\nAnswer: ", "topic": "ab"[number % 4 // 2], **trace})
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fitted = es.fit(tmp_path / "log.jsonl", labels, "baseline-mtp", domain="topic")
    assert fitted.metadata.n_training_rows == 40
    assert fitted.metadata.training_accuracy == 0.5
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write("\n" + json.dumps(rows[3]))
    with pytest.raises(InputError, match="joined by their question, but 2 responses share it"):
        es.fit(tmp_path / "log.jsonl", labels, "baseline-mtp", domain="topic")


def test_samples_with_several_filters_need_the_name_of_one(tmp_path: Path) -> None:
    path = tmp_path / "samples_gsm8k.jsonl"
    rows = [harness(0, 1.0, filter="strict-match"), harness(0, 0.0, filter="flexible-extract")]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match="filters strict-match, flexible-extract; name one of them with scorer"):
        es.read_labels(path)
    assert es.read_labels(path, scorer="strict-match")["label"].to_list() == [True]


def attempt(folder: Path, hour: int, samples: list[tuple[int, str | None, str | None]], task: str = "t1") -> None:
    """A log of inspect_ai: id, text and score of each sample; a sample without a text failed."""
    written = []
    for number, text, score in samples:
        choice = {"message": {"role": "assistant", "content": text}, "stop_reason": "stop"}
        step = {"token": text, "logprob": -0.1, "top_logprobs": [{"token": text, "logprob": -0.1}]}
        output = {"model": "m", "choices": [choice | {"logprobs": {"content": [step]}}] if text else []}
        sample = {"id": number, "epoch": 1, "input": "?", "target": "a", "output": output}
        written.append(sample | ({"scores": {"match": {"value": score}}} if score else {"error": {"message": "lost"}}))
    run = {"task": "sums", "task_id": task, "model": "m", "dataset": {}, "config": {}}
    log = {"version": 2, "status": "success", "eval": run, "samples": written}
    (folder / f"2026-11-01T{hour}-00-00+00-00_sums_{hour}.json").write_text(json.dumps(log))


def test_a_retried_evaluation_counts_its_newest_finished_samples(tmp_path: Path) -> None:
    attempt(tmp_path, 10, [(1, "old", "I"), (2, None, None), (3, "kept", "C")])
    attempt(tmp_path, 12, [(1, "new", "C"), (2, "done", "C"), (3, None, None)])
    frame, summary = read(tmp_path)
    finished = frame.filter(pl.col("text") != "")
    assert dict(finished.select("item_id", "text").iter_rows()) == {"1": "new", "2": "done", "3": "kept"}
    assert (summary.replaced, dict(summary.format_rows())["replaced by a newer attempt"]) == (2, "2")
    labels = es.read_labels(sorted(tmp_path.glob("*.json")))
    assert dict(labels.drop_nulls("label").select("item_id", "label").rows()) == {"1": True, "2": True, "3": True}


def test_another_run_of_the_task_is_another_sample(tmp_path: Path) -> None:
    attempt(tmp_path, 10, [(1, "old", "I")])
    attempt(tmp_path, 12, [(1, "new", "C")], task="t2")
    frame, summary = read(tmp_path)
    assert (sorted(frame["text"]), sorted(frame["sample"]), summary.replaced) == (["new", "old"], [0, 1], 0)
