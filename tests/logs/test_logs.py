"""Logs in each format: what is read from samples of what the tools write, and what a person is told."""

import gzip
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from production import log_file

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.logs import json_values, log_stream
from entropy_sentinel.logs.format_registry import FORMATS
from entropy_sentinel.logs.log_options import ReadOptions
from entropy_sentinel.logs.log_stream import Logs
from entropy_sentinel.logs.log_summary import LogSummary
from entropy_sentinel.logs.trace_frames import combine_frames
from entropy_sentinel.schemas.generation_schema import GENERATIONS

SAMPLES = Path(__file__).parent / "samples"
NO_LOGPROBS = "no log-probabilities in the log"
A_CALL = f"{NO_LOGPROBS} (a tool call)"
# What the samples say again and again: "Yes." and "No.", of two tokens with three alternatives each.
FIRST, YES, NO = [-0.105361, -2.525729, -5.298317], [-0.0001, -9.5, -11.25], [-0.0002, -9.0, -10.75]


def entropy(log_p: list[float]) -> float:
    return -sum(math.exp(value) * value for value in log_p)


YES_MEAN, NO_MEAN = (entropy(FIRST) + entropy(YES)) / 2, (entropy(FIRST) + entropy(NO)) / 2


def read(*paths: str | Path, **options: Any) -> tuple[pl.DataFrame, LogSummary]:
    logs = Logs([SAMPLES / path if isinstance(path, str) else path for path in paths], ReadOptions.from_values(options))
    frames = list(logs)
    return (combine_frames(frames) if frames else pl.DataFrame()), logs.summary


def rows(frame: pl.DataFrame, *names: str) -> list[tuple]:
    return frame.select(names).rows()


def chat(*steps: tuple[float, list[float]], **more: Any) -> dict[str, Any]:
    """A chat completion of these sampled log-probabilities and alternatives."""
    content = [
        {"token": "a", "logprob": sampled, "top_logprobs": [{"token": "b", "logprob": value} for value in top]}
        for sampled, top in steps
    ]
    choice = {"index": 0, "message": {"content": "a" * len(steps)}, "finish_reason": "stop"}
    return {"id": "one", "model": "m", "choices": [choice | {"logprobs": {"content": content}}], **more}


def test_replies_of_openai_and_vllm() -> None:
    frame, summary = read("openai.jsonl")
    too_long = "refused: This model's maximum context length is 128000 tokens."
    who, qwen = "gpt-4o-mini-2024-07-18", "Qwen/Qwen3-8B"
    assert rows(frame, "item_id", "sample", "model", "text", "finish_reason", "n_tokens", "top_k_returned") == [
        ("chatcmpl-BA1", 0, who, "Yes.", "stop", 2, 3),
        ("chatcmpl-BA2", 0, who, "\U0001f600", "stop", 2, 3),  # one character of two tokens
        ("chatcmpl-BA3", 0, who, "I can't help.", "stop", 2, 3),  # a refusal
        ("chatcmpl-BA4", 0, who, "", "stop", 0, None),
        ("chatcmpl-BA5", 0, who, "Yes.", "stop", 2, 3),  # two choices
        ("chatcmpl-BA5", 1, who, "No.", "stop", 2, 3),
        ("chatcmpl-BA6", 0, who, "Zounds", "length", 1, 3),
        ("chatcmpl-7d0f6c2b", 0, qwen, "4", "stop", 4, 3),  # with the tokens of its reasoning
        ("cmpl-55", 0, qwen, " blue.", "stop", 2, 2),  # a text completion
        ("chatcmpl-BA9", 0, who, "Hello", "stop", 0, None),
        ("openai-00010", 0, "(not named)", "", too_long, 0, None),
    ]
    assert frame["unusable"].to_list() == [None] * 3 + [A_CALL] + [None] * 5 + [NO_LOGPROBS, None]
    assert summary.facts == {"refusal": 1, "tool calls": 1, "reasoning": 1, "truncated": 1}
    assert (summary.responses, summary.formats, summary.top_k) == (11, {"openai": 11}, {3: 7, 2: 1})
    assert summary.modes == {"raw_logprobs, assumed": 11}
    assert str(frame["time"][0]) == "2025-11-01 12:26:40+00:00"
    features = compute_features(frame)
    assert features["mean"][0] == pytest.approx(YES_MEAN, rel=1e-6)
    refusal = [-0.051293, -3.2189, -5.8091], [-0.356675, -1.2729657, -4.6052]
    assert features["mean"][2] == pytest.approx(sum(map(entropy, refusal)) / 2, rel=1e-6)
    # A sampled token of -9999, outside the alternatives, counts as the least likely of them.
    assert (features["nll_sum"][6], features["clamped_tokens"][6]) == (pytest.approx(5.298317, rel=1e-6), 1)
    assert features["reason"].to_list()[9:] == [NO_LOGPROBS, frame["finish_reason"][10]]


def test_vllm_lists_the_sampled_token_first_and_maybe_in_place_of_another() -> None:
    frame, summary = read("openai.jsonl")
    chat_reply, completion = frame.row(7, named=True), frame.row(8, named=True)
    assert chat_reply["top_logprobs"][1] == pytest.approx([-0.693147, -1.386294, -1.609438])
    # Of four steps, `2+2` and `4` are the least likely of three and stand first.
    assert chat_reply["displaced_steps"] == 2
    assert chat_reply["token_ids"] == [151667, 17, 151668, 19]
    # Text completions list it as one more: the most likely two stay, and nothing is displaced.
    assert completion["top_logprobs"][1] == pytest.approx([-0.105361, -2.995732, None])
    assert completion["token_logprobs"][1] == pytest.approx(-6.907755)
    assert (completion["displaced_steps"], summary.unsorted_steps) == (0, 3)


def test_thinking_is_left_out_where_its_end_is_named() -> None:
    whole, _ = read("openai.jsonl")
    frame, _ = read("openai.jsonl", trace_after="</think>")
    assert (whole["trace_start"][7], frame["trace_start"][7]) == (0, 3)
    assert frame["trace_start"][0] == 2  # it never came
    features = compute_features(frame)
    assert features["nll_sum"][7] == pytest.approx(3.912023, rel=1e-6)
    assert features["reason"][0] == "no token after the thinking"


def test_batch_output() -> None:
    frame, summary = read("openai_batch.jsonl")
    assert rows(frame, "item_id", "text", "finish_reason", "metadata.route") == [
        ("gsm-7", "Yes.", "stop", None),
        ("gsm-8", "", "refused: Invalid 'messages[0].content'.", None),
        ("gsm-9", "", "refused: This request could not be executed before the completion window expired.", None),
        ("gsm-10", "No.", "stop", "faq"),
    ]
    assert compute_features(frame)["mean"].drop_nulls().to_list() == pytest.approx([YES_MEAN, NO_MEAN], rel=1e-6)
    assert summary.n_bad == 0


def test_requests_and_replies_with_the_columns_of_the_log() -> None:
    frame, summary = read("openai_pairs.jsonl")
    names = ("item_id", "sample", "text", "route", "segment", "latency_ms", "temperature", "metadata.prompt")
    assert rows(frame, *names) == [
        ("chatcmpl-D1", 0, "Yes.", "billing", "free", 412, 0.2, "v3"),
        ("p-2", 0, "No.", "faq", "paid", 8, None, None),  # both as text
        ("p-2", 1, "Yes.", "faq", None, 10.5, None, None),  # both below the HTTP
    ]
    assert frame["seed"].to_list() == [7, -1, -1]
    assert summary.repeated_ids == 1
    assert not [name for name in frame.columns if "authorization" in name or name == "user"]
    assert "sk-verysecret" not in str(frame.to_dicts())


def test_a_response_without_a_number_gets_the_lowest_that_is_free(tmp_path: Path) -> None:
    trace = {"item_id": "a", "token_logprobs": [-1], "top_logprobs": [[-1, -2]]}
    lines = [trace | {"text": "x", "sample": 1}, trace | {"text": "y"}, trace | {"text": "z"}]
    assert read(log_file(tmp_path / "a.jsonl", lines))[0]["sample"].to_list() == [1, 0, 2]


def test_columns_of_several_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_stream, "RESPONSES_AT_A_TIME", 2)
    trace = {"token_logprobs": [-1], "top_logprobs": [[-1, -2]]}
    odd = [1, "a", True, 2**70, None, 0.5, [1, "b"], {"x": 1}, "long" * 100]
    lines = [trace | {"item_id": number, "prompt_id": "p", "odd": value} for number, value in enumerate(odd)]
    frame, _ = read(log_file(tmp_path / "a.jsonl", lines))
    assert frame["odd"].to_list() == ["1", "a", "True", str(2**70), None, "0.5", "1, b", None, None]
    assert frame["item_id"].to_list() == [str(number) for number in range(9)]
    assert frame["prompt_id"].to_list() == ["p"] * 9


def test_parquet_with_parts_is_read_by_the_row_where_they_are_requested(tmp_path: Path) -> None:
    trace = {"token_logprobs": [[-1.0]] * 2, "top_logprobs": [[[-1.0, -2.0]]] * 2, "tokens": [["x"], None]}
    pl.DataFrame(trace | {"metadata": [{"route": "a"}, {"route": None}]}).write_parquet(tmp_path / "a.parquet")
    frame, _ = read(tmp_path / "a.parquet", columns=["metadata.route"])
    assert frame["metadata.route"].to_list() == ["a", None]
    frame, _ = read(tmp_path / "a.parquet", trace_after="y")
    assert frame["unusable"].to_list() == [None, "no tokens in the log, so the end of the thinking is unknown"]
    assert frame["trace_start"].to_list() == [1, 1]


def test_text_in_parts(tmp_path: Path) -> None:
    record = chat((-1, [-1, -2]))
    record["choices"][0]["message"]["content"] = [{"type": "text", "text": one} for one in "ab"]
    assert read(log_file(tmp_path / "a.jsonl", [record]))[0]["text"].to_list() == ["ab"]


def test_columns_by_name() -> None:
    frame, _ = read("openai_pairs.jsonl", columns=["route", "metadata.prompt", "request.messages.0.content", "none"])
    slices = frame.columns[frame.columns.index("unusable") + 1 :]
    assert slices == ["route", "metadata.prompt", "request.messages.0.content", "none"]
    assert rows(frame, *slices)[:2] == [("billing", "v3", "Is it?", None), ("faq", None, None, None)]


def test_a_column_that_a_frame_has_itself_gets_another_name(tmp_path: Path) -> None:
    record = {"id": 3, "mean": 4, "reason": "x", "benchmark": "faq", "token_logprobs": [-1], "top_logprobs": [[-1, -2]]}
    frame, _ = read(log_file(tmp_path / "a.jsonl", [record]))
    assert rows(frame, "item_id", "benchmark", "log_mean", "log_reason") == [("3", "faq", 4, "x")]
    assert compute_features(frame)["log_mean"].to_list() == [4]


def test_streams_are_joined_by_id() -> None:
    frame, summary = read("openai_stream.txt")
    assert rows(frame, "item_id", "text", "finish_reason", "n_tokens", "unusable") == [
        ("chatcmpl-E1", "Yes.", "stop", 2, None),
        ("chatcmpl-E3", "", "stop", 0, A_CALL),
        ("chatcmpl-E2", "No", "unknown", 1, None),  # interrupted
    ]
    assert summary.facts == {"tool calls": 1, "interrupted stream": 1}
    assert compute_features(frame)["mean"][0] == pytest.approx(YES_MEAN, rel=1e-6)


def test_the_responses_api() -> None:
    frame, summary = read("openai_responses.json")
    assert rows(frame, "item_id", "text", "finish_reason", "n_tokens", "unusable") == [
        ("resp_1", "Yes.", "stop", 2, None),
        ("resp_2", "No.", "length", 2, None),
        ("resp_3", "", "stop", 0, A_CALL),
        ("resp_4", "", "refused: The model produced an error.", 0, None),
        ("resp_5", "I can't.", "stop", 0, NO_LOGPROBS),
    ]
    assert summary.ignored == {}
    assert summary.facts == {"reasoning": 1, "tool calls": 1, "refusal": 1, "truncated": 1}


def test_outputs_of_vllm() -> None:
    frame, _ = read("vllm.jsonl", model="Qwen/Qwen3-8B")
    assert rows(frame, "item_id", "sample", "text", "finish_reason", "topic", "unusable") == [
        ("0", 0, " blue.", "stop", "sky", None),
        ("0", 1, " clear", "length", "sky", None),
        ("1", 0, " blue,", "stop", "sky", None),  # FlatLogprobs
        ("2", 0, " a", "stop", "none", NO_LOGPROBS),
    ]
    assert frame["model"].unique().to_list() == ["Qwen/Qwen3-8B"]
    assert frame["prompt_tokens"].to_list() == [3, 3, 2, 1]
    # k = 2: the second step has the sampled token, of rank 12, as a third.
    assert frame["top_logprobs"][0][1].to_list() == pytest.approx([-0.105361, -2.995732])
    features = compute_features(frame)
    mean = (entropy([-0.693147, -1.609438]) + entropy([-0.105361, -2.995732])) / 2
    assert features["mean"].to_list()[:3] == pytest.approx([mean, entropy([-0.693147, -1.609438]), mean], rel=1e-6)
    assert features["nll_sum"].to_list()[:2] == pytest.approx([7.600902, 1.609438], rel=1e-6)
    assert frame["displaced_steps"].sum() == 0


def test_payloads_of_litellm() -> None:
    frame, summary = read("litellm.json")
    names = ("item_id", "text", "finish_reason", "model_group", "request_tags", "metadata.route", "key_team_alias")
    assert rows(frame, *names) == [
        ("chatcmpl-F1", "Yes.", "stop", "cheap", "prod, eu", "returns", "retail"),
        ("chatcmpl-F2", "No.", "stop", "cheap", "prod, eu", "returns", "retail"),
        ("f-1", "", "refused: litellm.RateLimitError: slow down", "cheap", "prod, eu", "returns", "retail"),
    ]
    assert str(frame["time"][0]) == "2025-11-01 12:26:40.500000+00:00"
    assert summary.ignored == {"calls of aembedding": 1}
    kept = str(frame.to_dicts())
    assert not [one for one in ("88dc28", "ann@example.org", "10.0.0.7") if one in kept]
    asked, _ = read("litellm.json", columns=["metadata.user_api_key_user_email"])
    assert asked["metadata.user_api_key_user_email"][0] == "ann@example.org"


def test_tables_as_lines_and_as_parquet_say_the_same(tmp_path: Path) -> None:
    frame, summary = read("table.jsonl")
    assert rows(frame, "item_id", "sample", "text", "finish_reason", "route") == [
        ("17", 0, "Yes.", "stop", "a"),
        ("18", 0, "Yes.", "unknown", "b"),
        ("18", 1, "No.", "length", "b"),
    ]
    assert summary.repeated_ids == 1
    plain = frame.select(
        *("item_id", "text", "finish_reason", "model", "route", "tokens", "token_logprobs"),
        top_logprobs=pl.col("top_logprobs").cast(pl.List(pl.List(pl.Float64))),
    )
    plain.write_parquet(tmp_path / "table.parquet")
    same, other = read(tmp_path / "table.parquet")
    assert_frame_equal(same.drop("token_ids"), frame.drop("token_ids"), check_column_order=False)
    assert (other.formats, other.repeated_ids, other.top_k) == ({"table": 3}, 1, {3: 3})


def test_a_table_of_gaps(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = {
        "token_logprobs": [[-0.5, -0.5], [-0.5], None, [-0.5, None], [-0.5], []],
        "top_logprobs": [[[-1.0, -0.5, None], [-0.5, -3.0, -4.0]], None, [], [[-0.5]] * 2, [[-0.5]] * 2, []],
        "finish_reason": ["STOP"] * 6,
    }
    pl.DataFrame(table).write_parquet(path)
    frame, summary = read(path)
    assert frame["unusable"].to_list() == [None, "no alternatives to the sampled tokens in the log", NO_LOGPROBS, None]
    # Null is a probability of 0.
    assert frame["top_logprobs"][0].to_list() == [[-0.5, -1.0, -math.inf], [-0.5, -3.0, -4.0]]
    assert frame["finish_reason"].unique().to_list() == ["stop"]
    assert [(record.where, record.problem) for record in summary.bad] == [
        (f"{path}: row 3", "'token_logprobs' must not contain null"),
        (f"{path}: row 4", "'token_logprobs' and 'top_logprobs' must have equal lengths, have 1 and 2 steps"),
    ]
    assert compute_features(frame)["reason"].to_list()[3] == "empty response"


def test_gzip_and_standard_input_and_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (SAMPLES / "openai_batch.jsonl").read_bytes()
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(content))
    for name, raw in {"plain": content, "packed": gzip.compress(content)}.items():
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))
        frame, _ = read(Path("-"))
        assert (frame["benchmark"][0], frame["item_id"].to_list()[0]) == ("log", "gsm-7"), name
    frame, summary = read(packed, "openai_batch.jsonl")
    # The second file has the same replies, which count once.
    assert frame["benchmark"].unique(maintain_order=True).to_list() == ["a"]
    assert (summary.files, summary.responses, summary.twice) == (2, 4, 4)
    packed.write_bytes(gzip.compress(content)[:-20])
    with pytest.raises(InputError, match=r"a.jsonl.gz: "):
        read(packed)


def test_files_of_the_same_name_do_not_share_ids(tmp_path: Path) -> None:
    paths = [tmp_path / day / "log.jsonl" for day in ("monday", "tuesday")]
    for path in paths:
        path.parent.mkdir()
        value = -0.5 if path is paths[0] else -0.6
        log_file(path, [chat((-0.5, [-0.5, -2]), id=None), chat((value, [value, -2]))])
    frame, summary = read(*paths)
    assert rows(frame, "item_id", "sample") == [("log-00000", 0), ("one", 0), ("log-00002", 0), ("one", 1)]
    # The replies without an id are equal, and both count.
    assert (summary.repeated_ids, summary.twice, summary.equal) == (1, 0, 1)


STEP = {"token": "a", "logprob": -0.5, "top_logprobs": []}
PART_WITH_STEPS = {"type": "message", "content": [{"text": "a", "logprobs": [STEP]}, {"text": "b"}]}
BAD = [
    ("{broken", "must be a JSON object: Expecting property name enclosed in double quotes, column 2"),
    ("7", "must be a JSON object, is int: 7"),
    ("[[7]]", "must be a JSON object, is int: 7"),
    ({"a": 1, "b": 2}, "has no known format; fields: a, b. If a column has the server's reply, name it with reply"),
    ({"token_logprobs": [-1], "b": 2}, "has no known format; nearest is 'table', but there is no top_logprobs"),
    ({"doc_id": 1, "resps": []}, "is a sample of lm-evaluation-harness, which has labels but no log-probabilities"),
    ({"choices": []}, "the `choices` of the reply are empty"),
    ({"choices": [{"index": 0}]}, "a choice must have a `message` or a `text`"),
    (chat(("much", [-1])), "the log-probabilities of step 0 (from 0) must be numbers, got 'much'"),
    (chat((None, [-1])), "the log-probabilities of step 0 (from 0) must be numbers, got null"),
    ({"token_logprobs": [-1], "top_logprobs": []}, "sampled tokens (1), but there are 0"),
    ({"request": {}, "response": "<html>"}, "the reply must be JSON: Expecting value"),
    ({"request_id": "1", "outputs": [{"token_ids": [1], "logprobs": []}]}, "`logprobs` must have "),
    ({"request_id": "1", "outputs": [{"token_ids": [1], "logprobs": [{"2": -1}]}]}, "the sampled token, 1"),
    (chat((-1, [-1]), usage={"prompt_tokens": 1.5}), "prompt_tokens must be a whole number from 0 to 4,294,967,295"),
    ({"sample": -1, "token_logprobs": [-1], "top_logprobs": [[-1]]}, "sample must be a whole number from 0 to 65,535"),
    ({"token_ids": [-1], "token_logprobs": [-1], "top_logprobs": [[-1]]}, "token_ids must be whole numbers from 0"),
    ({"choices": [3]}, "a choice must be an object"),
    ({"object": "response"}, "a reply of the Responses API must have an `output`"),
    ({"type": "response.completed"}, "'response' is missing"),
    ({"object": "response", "output": [PART_WITH_STEPS]}, "only part of the text has log-probabilities"),
]


@pytest.mark.parametrize(("line", "expected"), BAD)
def test_bad_lines_are_named_and_counted_and_the_rest_continues(tmp_path: Path, line: Any, expected: str) -> None:
    good = chat((-0.5, [-0.5, -2]))
    path = log_file(tmp_path / "a.jsonl", [good, line, {**good, "id": "two"}])
    frame, summary = read(path)
    assert (len(frame), summary.responses, summary.n_bad) == (2, 2, 1)
    assert summary.bad[0].where == f"{path}: line 2" + (", entry 1" if line == "[[7]]" else "")
    assert expected in summary.bad[0].problem
    with pytest.raises(InputError) as error:
        read(path, strict=True)
    assert str(error.value) == f"{summary.bad[0].where}: {summary.bad[0].problem}"


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    good = json.dumps(chat((-0.5, [-0.5, -2]))).replace('"content": "a"', '"content": "\\ud83d!"')
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + good.encode() + b'\n{"id": "\xff"}\n\n')
    frame, summary = read(path)
    assert frame["text"].to_list() == ["\ufffd!"]
    assert summary.bad == [(f"{path}: line 2", "must be in UTF-8, has other bytes")]


def test_a_long_list_of_bad_lines_is_cut(tmp_path: Path) -> None:
    lines = [json.dumps({name: 1}) for name in "abcdefghi"]
    _, summary = read(log_file(tmp_path / "a.jsonl", lines))
    assert len(summary.format_problems()) == 6
    assert summary.format_problems()[-1] == "... and 4 more"


def test_a_servers_own_text_log_has_nothing_to_read() -> None:
    frame, summary = read("vllm_server.log")
    assert (len(frame), summary.n_bad) == (0, 2)
    assert "log the replies as JSON" in summary.bad[0].problem


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    "write",
    [
        lambda records: json.dumps(records),
        lambda records: json.dumps(records, indent=2),
        lambda records: "\n".join(json.dumps(record, indent=2) for record in records),
        lambda records: "\n\n".join(json.dumps(record, indent=2).replace("{\n", "{", 1) for record in records),
        lambda records: "[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n",
    ],
)
def test_documents_and_arrays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[list], str], block: int
) -> None:
    monkeypatch.setattr("entropy_sentinel.logs.json_values._BLOCK", block)
    records = [chat((-0.5, [-0.5, -2]), id=f"n {number} ]\u00e9") for number in range(3)]
    path = tmp_path / "a.json"
    path.write_text(write(records), encoding="utf-8")
    frame, summary = read(path)
    assert frame["item_id"].to_list() == [record["id"] for record in records]
    assert summary.n_bad == 0
    path.write_text(write([records[0], 5])[:-1] + " oops")
    frame, summary = read(path)
    assert len(frame) == 1
    assert summary.bad[0].where.startswith((f"{path}: entry 2", f"{path}: line 32"))


def test_values_in_any_mixture_on_any_lines(tmp_path: Path) -> None:
    a, b = (json.dumps(chat((-0.5, [-0.5, -2]), id=name), indent=indent) for name, indent in (("a", None), ("b", 1)))
    path = tmp_path / "a.json"
    for text in (f"{a}{b}", f"[[{a}],\n[[{b}]]]", f"\ufeff [] \n[{a}]{b} []", f"[{a}]\n\n\n[\n{b}\n]"):
        path.write_text(text, encoding="utf-8")
        assert read(path, strict=True)[0]["item_id"].to_list() == ["a", "b"], text


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_at_line_feeds_and_carriage_returns_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, block: int
) -> None:
    """JSON may have other characters at which Python splits lines, and servers write them as they are."""
    monkeypatch.setattr("entropy_sentinel.logs.json_values._BLOCK", block)
    record = chat((-0.5, [-0.5, -2]))
    record["choices"][0]["message"]["content"] = "one\u2028two\u2029three\u0085four\x0bfive\x1csix"
    line = json.dumps(record, ensure_ascii=False)
    path = tmp_path / "a.txt"
    path.write_bytes(end.join(["event: x", f"data: {line}", "", "{broken", ": ping", "{broken"]).encode())
    frame, summary = read(path)
    assert frame["text"].to_list() == [record["choices"][0]["message"]["content"]]
    assert [bad.where for bad in summary.bad] == [f"{path}: line 4", f"{path}: line 6"]


def test_arrays_without_end_and_white_space_take_the_memory_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest = 0
    fill = json_values._JsonStream._fill

    def measured(self: json_values._JsonStream) -> None:
        nonlocal longest
        fill(self)
        longest = max(longest, len(self._text) + len(self._arrays))

    monkeypatch.setattr(json_values._JsonStream, "_fill", measured)
    monkeypatch.setattr(json_values, "_BLOCK", 1000)
    good = json.dumps(chat((-0.5, [-0.5, -2])))
    path = tmp_path / "a.json"
    for text, n_bad in (
        (f"{' ' * 50_000}\n{good}", 0),
        (f"{'[' * 50_000}\n{good}", 1),
        (f"{'[' * 99}{good}{']' * 99}", 0),
    ):
        path.write_text(text)
        frame, summary = read(path)
        assert (len(frame), summary.n_bad) == (1, n_bad)
    assert longest < 5000
    path.write_text("[" * 50_000)
    assert read(path)[1].bad == [(f"{path}: line 1", "is nested in more than 100 arrays; its line was skipped")]


def test_a_format_that_is_named(tmp_path: Path) -> None:
    path = log_file(tmp_path / "a.jsonl", [{"custom_id": "x", "error": None, **chat((-0.5, [-0.5, -2]))}])
    assert read(path)[0]["finish_reason"].to_list() == ["refused: no response"]
    assert read(path, format="openai")[0]["item_id"].to_list() == ["one"]
    with pytest.raises(ConfigError, match="format: unknown name 'csv'; known: "):
        ReadOptions.from_values({"format": "csv"})
    with pytest.raises(ConfigError, match="top_k: must be 1 or more, got 0"):
        ReadOptions.from_values({"top_k": 0})


def test_k_is_what_most_steps_have_and_can_be_cut(tmp_path: Path) -> None:
    step, more, few = (-0.5, [-0.5, -2, -3]), (-0.5, [-0.5, -2, -3, -4]), (-0.5, [-0.5, -2])
    path = log_file(tmp_path / "a.jsonl", [chat(step, more, step, few), chat(few, few, id="two")])
    frame, summary = read(path)
    assert frame["top_k_returned"].to_list() == [3, 2]
    assert frame["top_logprobs"][0].to_list() == [[-0.5, -2, -3]] * 3 + [[-0.5, -2, None]]
    assert (summary.short_steps, summary.top_k) == (1, {3: 1, 2: 1})
    only, _ = read(log_file(tmp_path / "only.jsonl", [chat((-0.5, [-0.5]))]))
    assert only["displaced_steps"].to_list() == [0]
    cut, _ = read(path, top_k=2)
    assert cut["top_logprobs"].to_list() == [[[-0.5, -2]] * 4, [[-0.5, -2]] * 2]
    assert compute_features(cut)["mean"].to_list() == pytest.approx([entropy([-0.5, -2])] * 2)
    three, _ = read(path, top_k=3)
    assert three["top_k_returned"].to_list() == [3, None]
    assert three["unusable"].to_list() == [None, "the log has 2 alternatives per token, 3 are needed"]


def test_entries_out_of_order_are_sorted_and_counted(tmp_path: Path) -> None:
    path = log_file(tmp_path / "a.jsonl", [chat((-0.5, [-3, -0.5, -2]), (-0.5, [-0.5, -2, -3]))])
    frame, summary = read(path)
    assert frame["top_logprobs"].to_list() == [[[-0.5, -2, -3]] * 2]
    assert summary.unsorted_steps == 1


def test_frames_are_of_bounded_size_and_the_same_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = read("openai.jsonl", "table.jsonl", "vllm.jsonl")
    monkeypatch.setattr(log_stream, "TOKENS_AT_A_TIME", 3)
    logs = Logs([SAMPLES / name for name in ("openai.jsonl", "table.jsonl", "vllm.jsonl")], ReadOptions())
    frames = list(logs)
    assert max(int(frame["n_tokens"].sum()) for frame in frames) <= 6  # full at 3, with the reply of 4 on top
    assert combine_frames(frames).equals(whole)
    monkeypatch.setattr(log_stream, "TOKENS_AT_A_TIME", 100)
    monkeypatch.setattr(log_stream, "RESPONSES_AT_A_TIME", 2)
    frames = list(Logs([SAMPLES / "openai.jsonl"], ReadOptions()))
    assert [len(frame) for frame in frames] == [2, 2, 2, 2, 2, 1]


def test_a_frame_of_a_log_has_the_columns_of_generations() -> None:
    frame, _ = read("vllm.jsonl", logprobs_mode="processed_logprobs")
    result = frame.select(GENERATIONS.schema.names())
    GENERATIONS.check(result.filter(frame["unusable"].is_null()))
    assert frame["logprobs_mode"].unique().to_list() == ["processed_logprobs"]


def test_what_is_reported_of_a_log() -> None:
    _, summary = read("openai.jsonl", logprobs_mode="raw_logprobs")
    expected = dict(summary.format_rows())
    assert expected["alternatives per token"] == "3 (7), 2 (1)"
    assert expected["log-probabilities"] == "raw_logprobs, as you stated (11)"
    assert expected["no features possible"] == f"{NO_LOGPROBS} (1), {A_CALL} (1)"
    assert expected["responses"] == "11"
    assert (expected["steps sorted"], expected["steps that may lack the k-th"]) == ("3", "2")
    assert "could not be read" not in expected


def test_a_table_of_texts_needs_no_log_probabilities() -> None:
    frame, summary = read("texts.jsonl")
    assert set(summary.formats) == {"texts"}
    assert frame["text"].to_list() == ["Berlin", "", "17, because"]
    assert frame["finish_reason"].to_list() == ["stop", "stop", "length"]
    assert frame["unusable"].to_list() == [NO_LOGPROBS] * 3


@pytest.mark.parametrize(
    "record",
    [
        {"text": "x"},
        {"id": "a", "text": ["x"]},
        {"id": "a", "text": "x", "token_logprob": [-0.1]},
        {"id": "a", "text": "x", "label": True, "weight": 1.0},
    ],
)
def test_other_tables_have_no_known_format(record: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps(record))
    _, summary = read(tmp_path / "log.jsonl")
    assert "has no known format" in summary.bad[0].problem


def test_every_format_has_a_sample() -> None:
    logs = [path for path in SAMPLES.iterdir() if path.suffix != ".log"]
    assert {name for path in logs for name in read(path)[1].formats} == set(FORMATS)
