"""Replies in the records of clients and tracing tools: variants of each form, failed requests, times."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_cases import LOGS, SAMPLED, TOP, read

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError

CHAT = json.loads((LOGS / "braintrust.jsonl").read_text().splitlines()[0])["output"][0]
STEPS = CHAT["logprobs"]["content"]
BODY = {"id": "c0", "model": "m-1", "choices": [CHAT]}
GEMINI = json.loads((LOGS / "gemini.jsonl").read_text().splitlines()[0])
TEXT = " four apples."
TOKENS = [step["token"] for step in STEPS]
# The same steps in other words: alternatives as pairs, by token, and in camel case.
PAIRS = [step | {"top_logprobs": [["x", p] for p in top]} for step, top in zip(STEPS, TOP, strict=True)]
BY_TOKEN = [{a["token"]: a["logprob"] for a in step["top_logprobs"]} for step in STEPS]
CAMEL = [{"token": s["token"], "logProb": s["logprob"], "topLogProbs": s["top_logprobs"]} for s in STEPS]
OLDER_SDK = [{"token": s["token"], "logprob": s["logprob"], "topLogprobs": s["top_logprobs"]} for s in STEPS]
ONLY_BY_TOKEN = [{"text": token, "top_logprobs": top} for token, top in zip(TOKENS, BY_TOKEN, strict=True)]
LISTS = {"tokens": TOKENS, "token_logprobs": SAMPLED, "top_logprobs": BY_TOKEN}


def message(**more: Any) -> dict[str, Any]:
    text = {"type": "output_text", "text": TEXT, "annotations": [], "logprobs": STEPS}
    return {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [text], **more}


def attributes(**values: Any) -> list[dict[str, Any]]:
    return [{"key": key.replace("__", "."), "value": {"stringValue": value}} for key, value in values.items()]


def span(*given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "s", "attributes": list(given), **more}]}]}]}


SNAKE_SPAN = {"resource_spans": [{"scope_spans": [{"spans": [{"span_id": "s", "attributes": []}]}]}]}
SNAKE_SPAN["resource_spans"][0]["scope_spans"][0]["spans"][0]["attributes"] = [
    {"key": "output.value", "value": {"string_value": json.dumps(BODY)}}
]
PROVIDER = {"openai": {"logprobs": STEPS}}
OF_SDK = {"text": TEXT, "finishReason": "stop", "response": {"modelId": "m-1"}}
LANGCHAIN = {"content": TEXT, "type": "ai", "response_metadata": {"finish_reason": "stop", "model_name": "m-1"}}
WITH_LOGPROBS = LANGCHAIN["response_metadata"] | {"logprobs": {"content": STEPS}}
GENERATION = {"text": TEXT, "generation_info": WITH_LOGPROBS}
RUN = {"run_type": "llm", "inputs": {}, "outputs": {"generations": [[GENERATION]]}}
PART = {"part_kind": "text", "content": TEXT}


@pytest.mark.parametrize(
    "record",
    [
        # Forms of log-probabilities
        BODY | {"choices": [CHAT | {"logprobs": LISTS}]},
        BODY | {"choices": [CHAT | {"logprobs": {"content": PAIRS}}]},
        BODY | {"choices": [CHAT | {"logprobs": LISTS | {"top_logprobs": [[[5, p] for p in top] for top in TOP]}}]},
        BODY | {"choices": [CHAT | {"logprobs": STEPS}]},
        BODY | {"choices": [CHAT | {"logprobs": {"content": CAMEL}}]},
        {"text": TEXT, "logprobs": {"content": STEPS}, "finish_reason": "stop"},
        {"content": TEXT, "finish_reason": "stop", "cached": False, "logprobs": STEPS},
        {"output": TEXT, "logprobs": [STEPS]},
        {"generated_text": TEXT, "logprobs": ONLY_BY_TOKEN},
        {"content": [{"text": TEXT}], "role": "assistant", "meta": {"logprobs": {"content": STEPS}, "model": "m-1"}},
        {"answer": TEXT, "raw": BODY},
        # Replies at any depth
        {"code": 200, "message": "ok", "data": BODY},
        {"call": [{"deep": json.dumps({"deeper": json.dumps(json.dumps(BODY))})}]},
        {"events": [{"key": "reply", "value": {"stringValue": json.dumps(BODY)}}]},
        {"a": {"choices": [CHAT]}, "same": {"again": json.dumps({"choices": [CHAT]})}},
        {"turns": [{"role": "user", "content": "?"}, CHAT]},
        {"result": {"output": [{"type": "reasoning", "summary": []}, message()]}},
        {"request": {"model": "m-1"}, "response": [CHAT]},
        {"request": {}, "response": json.dumps(json.dumps(BODY))},
        {"raw_response": {"headers": {}, "body": json.dumps(BODY)}},
        # Spans
        span(*attributes(output__value=json.dumps(BODY))),
        span(*attributes(output__value=json.dumps([CHAT]), openinference__span__kind="LLM")),
        span(*attributes(gen_ai__completion=json.dumps(BODY), gen_ai__operation__name="chat")),
        span(*attributes(ai__response__text=TEXT, ai__response__providerMetadata=json.dumps(PROVIDER))),
        span({"key": "output", "value": {"kvlistValue": {"values": attributes(value=json.dumps(BODY))}}}),
        SNAKE_SPAN,
        {"info": {"request_id": "r"}, "data": {"spans": [{"outputs": BODY, "span_type": "LLM", "inputs": {}}]}},
        {"trace_id": "t", "request": "{}", "response": TEXT, "spans": json.dumps([{"outputs": BODY}])},
        {"trace_id": "t", "observations": [{"type": "GENERATION", "output": BODY}, {"type": "SPAN", "output": TEXT}]},
        # Clients
        OF_SDK | {"providerMetadata": {"azure": {"logprobs": STEPS}}},
        OF_SDK | {"experimental_providerMetadata": PROVIDER},
        OF_SDK | {"logprobs": OLDER_SDK},
        OF_SDK | {"providerMetadata": {"other": {}}, "response": {"body": BODY}},
        {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"body": {"stringValue": json.dumps(BODY)}}]}]}]},
        {"kind": "response", "parts": [PART | {"provider_details": {"logprobs": STEPS}}]},
        LANGCHAIN | {"response_metadata": WITH_LOGPROBS},
        LANGCHAIN | {"response_metadata": LANGCHAIN["response_metadata"] | {"logprobs": LISTS}},
        LANGCHAIN | {"response_metadata": LANGCHAIN["response_metadata"] | {"logprobs_result": STEPS}},
        LANGCHAIN | {"content": [{"type": "reasoning"}, {"type": "text", "text": TEXT, "logprobs": STEPS}]},
        {"lc": 1, "kwargs": LANGCHAIN | {"response_metadata": WITH_LOGPROBS}},
        {"run_type": "llm", "inputs": {}, "outputs": {"generations": [GENERATION]}},
        {"generations": [[GENERATION]], "llm_output": {"model_name": "m-1"}},
        {"run_type": "chain", "inputs": {}, "outputs": {"output": TEXT}, "child_runs": [RUN, {"run_type": "tool"}]},
        {"messages": [{"type": "human", "content": "?"}, LANGCHAIN | {"response_metadata": WITH_LOGPROBS}]},
        {"message": {"content": TEXT}, "raw": BODY, "logprobs": [step["top_logprobs"] for step in STEPS]},
        {"output": [message()], "usage": {}, "response_id": "resp_0"},
        {"span_id": "s", "span_attributes": {"type": "llm"}, "output": BODY, "input": "?"},
        # Servers and batches
        {"key": 7, "response": GEMINI},
        {"status": "", "processed_time": "x", "request": {"contents": []}, "response": GEMINI},
        {"custom_id": "a", "response": BODY, "error": None},
        {"recordId": "r", "modelInput": {}, "modelOutput": json.dumps(BODY)},
        {"request": {"messages": []}, "response": {"body": BODY, "status": "200 OK"}},
    ],
    ids=lambda record: "-".join(record)[:60],
)  # fmt: skip
def test_each_form_has_the_steps_of_its_reply(record: dict[str, Any]) -> None:
    frame = es.read_logs(record)
    assert (len(frame), frame["unusable"].to_list(), frame["text"].to_list()) == (1, [None], [TEXT])
    assert frame["token_logprobs"][0].to_list() == pytest.approx(SAMPLED)
    assert [list(step) for step in frame["top_logprobs"][0]] == [pytest.approx(step) for step in TOP]


REASON = "prompt too long"


@pytest.mark.parametrize(
    "record",
    [
        {"key": "row", "error": {"code": 3, "message": REASON}},
        {"key": "row", "response": {"error": {"code": 400, "message": REASON}}},
        {"status": REASON, "processed_time": "x", "request": {}, "response": {}},
        {"status": f'Bad Request: {{"error": {{"code": 400, "message": "{REASON}"}}}}', "request": {}, "response": {}},
        {"custom_id": "a", "response": None, "error": {"code": "x", "message": REASON}},
        {"custom_id": "a", "response": {"status_code": 400, "body": {"error": {"message": REASON}}}, "error": None},
        {"custom_id": "a", "response": {"status_code": 500, "body": REASON}, "error": None},
        {"custom_id": "a", "result": {"type": "errored", "error": {"type": "error", "error": {"message": REASON}}}},
        {"recordId": "r", "modelInput": {}, "error": {"errorCode": 400, "errorMessage": REASON}},
        {"request": {}, "response": None, "error": REASON},
        {"request": {}, "response": "", "status_code": "429", "error_message": REASON},
        {"run_type": "llm", "inputs": {}, "outputs": None, "error": REASON},
        {"op_name": "x", "inputs": {}, "output": None, "exception": REASON},
        {"span_id": "s", "span_attributes": {"type": "llm"}, "output": None, "error": {"message": REASON}},
        span(*attributes(openinference__span__kind="LLM"), status={"code": 2, "message": REASON}),
        {"schemaType": "ModelInvocationLog", "modelId": "m", "requestId": "r", "errorCode": REASON},
    ],
    ids=lambda record: "-".join(record)[:60],
)  # fmt: skip
def test_a_failed_row_is_a_refused_request(record: dict[str, Any]) -> None:
    assert es.read_logs(record)["finish_reason"].to_list() == [f"refused: {REASON}"]


def test_what_ended_without_a_reason_is_refused_too() -> None:
    for kind in ("canceled", "expired"):
        record = {"custom_id": "a", "result": {"type": kind}}
        assert es.read_logs(record)["finish_reason"].to_list() == [f"refused: {kind}"]


MOMENT = "2026-10-25 09:33:20+00:00"
SECONDS = 1792920800


@pytest.mark.parametrize(
    "created",
    [SECONDS, float(SECONDS), SECONDS * 1000, SECONDS * 10**6, SECONDS * 10**9, str(SECONDS), f"{SECONDS * 10**9}"],
)
def test_a_time_in_any_unit(created: Any) -> None:
    assert str(es.read_logs(BODY | {"created": created})["time"][0]) == MOMENT


def test_a_time_as_text_stays_and_no_time_is_none() -> None:
    assert es.read_logs(BODY | {"created": "2026-10-25T09:33:20Z"})["time"].to_list() == ["2026-10-25T09:33:20Z"]
    for created in (0, -5, True, 2**70, 10**25, None, [], ""):
        assert "time" not in es.read_logs(BODY | {"created": created}).columns


def test_the_replys_model_counts_and_not_the_requests() -> None:
    record = {"request": {"model": "alias"}, "response": BODY | {"model": "m-2026-10-01"}}
    assert es.read_logs(record)["model"].to_list() == ["m-2026-10-01"]
    assert es.read_logs(record | {"response": {"choices": [CHAT]}})["model"].to_list() == ["alias"]


BARE = {"index": 0, "message": {"role": "assistant", "content": TEXT}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("record", "facts"),
    [
        (
            {"candidates": [{"content": {"parts": [{"text": TEXT}]}, "avgLogprobs": -0.3}]},
            ("avgLogprobs", "one number"),
        ),
        ({"choices": [BARE | {"score": {"cumulative_logprob": -1.2}}]}, ("choices[*].score.cumulative_logprob",)),
        ({"choices": [BARE], "token_logprobs": SAMPLED}, ("`token_logprobs`", "no alternatives")),
        ({"choices": [BARE], "prompt_logprobs": [None, {"5": -0.5}]}, ("`prompt_logprobs`", "those of the prompt")),
        ({"choices": [BARE], "meta": json.dumps({"my_logprobs": {"x": [[-0.1]]}})}, ("`meta.my_logprobs`", "form")),
        ({"choices": [BARE]}, ()),
        ({"request": {"logprobs": True, "top_logprobs": 5, "logprob_bias": -1.5}, "response": {"choices": [BARE]}}, ()),
    ],
)
def test_no_log_probabilities_is_said_after_looking(record: dict[str, Any], facts: tuple[str, ...]) -> None:
    [reason] = es.read_logs(record | {"usage": {"prompt_tokens": 1}, "usageMetadata": {"promptTokenCount": 1}})[
        "unusable"
    ]
    assert reason.startswith("no log-probabilities in the log")
    assert all(fact in reason for fact in facts)
    assert bool(facts) == (":" in reason)


@pytest.mark.parametrize("more", [{"spans": [{"start": 0}]}, {"kind": "request"}, {"type": "message"}, {"key": "a"}])
def test_a_table_stays_a_table_whatever_its_columns_are_called(more: dict[str, Any]) -> None:
    row = {"token_logprobs": SAMPLED, "top_logprobs": TOP, "response": TEXT, "datetime_utc": "2026-10-25", **more}
    logs = es.open_logs([row])
    assert [frame["text"].to_list() for frame in logs] == [[TEXT]]
    assert dict(logs.summary.formats) == {"table": 1}


def test_the_question_is_found_in_langchains_messages() -> None:
    human = {"lc": 1, "id": ["langchain", "HumanMessage"], "kwargs": {"content": "How many?"}}
    run = json.loads((LOGS / "langsmith.jsonl").read_text().splitlines()[0])
    for messages in ([[{"type": "human", "content": "How many?"}]], [[{"type": "system", "content": "x"}, human]]):
        run["inputs"] = {"messages": messages}
        assert es.read_logs(run, columns=["question"])["question"].to_list() == ["How many?"]


@pytest.mark.parametrize(
    ("place", "value", "problem"),
    [
        ("logprobs", {"content": 5}, "must be lists"),
        ("logprobs", {"content": [{"token": "a", "logprob": -0.1, "top_logprobs": 3}]}, "must be lists"),
        ("logprobs", {"content": [{"token": "a"}]}, "a step must have 'logprob'"),
        ("logprobs", {"token_logprobs": [-0.1], "top_logprobs": [[[-1, -0.1, 3]]]}, "must be numbers"),
        ("message", {"content": 5}, "must be a string"),
    ],
)
def test_values_of_another_kind_are_refused_in_words(place: str, value: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        es.read_logs(BODY | {"choices": [CHAT | {place: value}]})


def test_a_record_of_no_format_is_told_which_field_seems_to_have_them() -> None:
    with pytest.raises(
        InputError, match="no known format.*`output_log_probs` has a number per token, but no alternatives"
    ):
        es.read_logs({"text_output": TEXT, "output_log_probs": SAMPLED, "cum_log_probs": -1.35})


def test_several_generations_of_a_run_are_samples() -> None:
    run = json.loads((LOGS / "langsmith.jsonl").read_text().splitlines()[0])
    [[one]] = run["outputs"]["generations"]
    other = json.loads(json.dumps(one).replace(TEXT, " five."))
    run["outputs"]["generations"] = [[one, other]]
    frame = es.read_logs(run)
    assert frame.select("item_id", "sample", "text").rows() == [("r0", 0, TEXT), ("r0", 1, " five.")]


def test_a_trace_with_several_calls_loses_none(tmp_path: Path) -> None:
    def call(number: int, output: Any) -> dict[str, Any]:
        return {"span_id": f"s{number}", "span_type": "LLM", "outputs": output, "inputs": {}}

    other = BODY | {"id": "c1", "choices": [CHAT | {"message": {"content": " five."}}]}
    spans = [call(0, BODY), call(1, "no reply"), call(2, other), {"span_id": "t", "span_type": "TOOL", "outputs": BODY}]
    (tmp_path / "a.json").write_text(
        json.dumps([{"info": {}, "data": {"spans": spans}}, {"info": {}, "data": {"spans": spans[3:]}}])
    )
    frame, summary = read(tmp_path / "a.json")
    assert frame["text"].to_list() == [TEXT, "", " five.", TEXT]
    assert "cannot be read: the reply must be JSON" in frame["unusable"][1]
    assert summary.n_bad == 0


def test_the_tokens_of_a_client_that_keeps_only_alternatives() -> None:
    """`llm` keeps the text of a token, and values by token: a token that is not among them has no value."""
    record = json.loads((LOGS / "llm_logs.jsonl").read_text().splitlines()[0])
    record["response_json"]["logprobs"][1]["text"] = " plums"
    with pytest.raises(InputError, match="' plums' is not among its alternatives.*request more"):
        es.read_logs(record)


def test_chunks_of_cohere_have_several_tokens_without_alternatives() -> None:
    chunks = [{"text": " four", "logprobs": [-0.2]}, {"text": " apples.", "logprobs": [-0.05, -1.1]}]
    frame = es.read_logs({"message": {"content": TEXT}, "finish_reason": "COMPLETE", "logprobs": chunks})
    assert frame["token_logprobs"][0].to_list() == pytest.approx(SAMPLED)
    assert frame["unusable"].to_list() == ["no alternatives to the sampled tokens in the log"]


def test_bedrock_without_alternatives_is_refused_with_a_remedy() -> None:
    frame = es.read_logs(json.loads((LOGS / "bedrock.jsonl").read_text().splitlines()[0]))
    assert frame["token_logprobs"][0].to_list() == pytest.approx(SAMPLED)
    assert frame["unusable"].to_list() == ["no alternatives to the sampled tokens in the log"]
    several = {"generation": "a", "stop_reason": "stop", "logprobs": [{"5": -0.1, "6": -2.5}]}
    with pytest.raises(InputError, match="does not say which was sampled"):
        es.read_logs(several)


def test_a_message_of_anthropic_has_no_log_probabilities() -> None:
    body = json.loads((LOGS / "anthropic.jsonl").read_text())
    record = {"custom_id": "a", "result": {"type": "succeeded", "message": body}}
    for given in (body, record):
        frame = es.read_logs(given)
        assert (frame["text"][0], frame["finish_reason"][0]) == (TEXT, "stop")
        assert frame["unusable"][0] == "no log-probabilities in the log"


def test_steps_by_token_id_in_rows_of_ray(tmp_path: Path) -> None:
    """Arrow has a map where JSON has an object; rows may lack the ids if each step begins with the sampled token."""
    rows = [json.loads(line) for line in (LOGS / "ray.jsonl").read_text().splitlines()]
    entry = pa.struct([("logprob", pa.float64()), ("rank", pa.int64()), ("decoded_token", pa.string())])
    maps = [[[(int(key), value) for key, value in step.items()] for step in row["logprobs"]] for row in rows]
    names = ("generated_text", "generated_tokens")
    columns = {name: [row[name] for row in rows] for name in names}
    table = pa.table({**columns, "logprobs": pa.array(maps, pa.list_(pa.map_(pa.int64(), entry)))})
    pq.write_table(table, tmp_path / "rows.parquet")
    named = [
        {"answer": row["generated_text"], "token_ids": row["generated_tokens"], "logprobs": row["logprobs"]}
        for row in rows
    ]
    sampled_first = []
    for row in rows:
        ids = map(str, row["generated_tokens"])
        steps = [{key: step[key]} | step for key, step in zip(ids, row["logprobs"], strict=True)]
        sampled_first.append({"generated_text": row["generated_text"], "logprobs": steps})
    numbers = [[{key: entry["logprob"] for key, entry in step.items()} for step in row["logprobs"]] for row in named]
    plain = [row | {"logprobs": steps} for row, steps in zip(named, numbers, strict=True)]
    for given in (tmp_path / "rows.parquet", table, named, sampled_first, plain):
        frame = es.read_logs(given)
        assert frame["token_logprobs"].to_list() == [pytest.approx(SAMPLED)] * 2
    without = [{name: value for name, value in row.items() if name != "generated_tokens"} for row in rows]
    with pytest.raises(InputError, match="`generated_tokens` is missing"):
        es.read_logs(without)


@pytest.mark.parametrize(
    ("stated", "record", "problem"),
    [
        ("openai", BODY | {"object": "text_completion", "choices": [{"text": TEXT, "logprobs": LISTS}]}, None),
        ("openai-responses", {"output": [message() | {"type": "text"}]}, None),
        ("langchain", {"content": TEXT, "response_metadata": {"logprobs": {"content": STEPS}}}, None),
        ("openai", {"choices": [{"delta": {"content": "a"}}]}, 'format="openai-stream"'),
        ("openai-responses", BODY, "must have an `output`"),
        ("gemini", BODY, "is not of the format 'gemini', which has candidates"),
        ("tgi", BODY, "is not of the format 'tgi'"),
        ("weave", BODY, "has no reply in output"),
        ("table", BODY, "'token_logprobs' is missing"),
    ],
)  # fmt: skip
def test_a_stated_format_is_obeyed(stated: str, record: dict[str, Any], problem: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(record))
    frame, summary = read(tmp_path / "a.json", format=stated)
    if problem is None:
        assert list(summary.formats) == [stated]
        assert len(frame) == 1
    else:
        assert problem in summary.bad[0].problem


def test_a_stated_format_and_a_named_reply_exclude_each_other() -> None:
    with pytest.raises(InputError, match="'gemini' has no effect with `reply`"):
        es.read_logs({"answer": BODY}, reply="answer", format="gemini")
