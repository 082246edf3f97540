"""What docs/capture.md says of batches, local servers and Langfuse, as far as it can be run without a network."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_api import FakeApi, completion, fake_api, ok, step, user
from local_servers import llama_chat, llama_step
from openai import OpenAI
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from programs import find_program, skip_without
from pydantic import TypeAdapter
from serving import PROGRAMS

import entropy_sentinel as es

PAGE = (Path(__file__).parents[2] / "docs" / "capture.md").read_text()
STEPS = [step("4", -0.1, [-0.1, -4.0]), step("2", -0.7, [-0.7, -4.0])]


def snippet(heading: str, language: str = "py") -> str:
    """The first block of a section."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return section.split(f"```{language}\n")[1].split("```")[0]


def capture_log(client: Any, folder: Path) -> Any:
    client._client._transport.writer.close()
    return es.read_logs(folder)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeApi]:
    with fake_api(lambda body, _: ok(completion("42", STEPS if body.get("logprobs") else []))) as api:
        monkeypatch.setenv("OPENAI_BASE_URL", api.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield api


def test_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(snippet("Batches"), {})
    (request,) = [json.loads(line) for line in Path("billing.jsonl").read_text().splitlines()]
    TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(request["body"])
    assert (request["body"]["logprobs"], request["body"]["top_logprobs"]) == (True, 20)
    # The output as OpenAI's reference of batches shows it, with a reply of the client's own type.
    body = ChatCompletion.model_validate(completion("42", STEPS)).model_dump(mode="json")
    response = {"status_code": 200, "request_id": "req_1", "body": body}
    output = {"id": "batch_req_1", "custom_id": request["custom_id"], "response": response, "error": None}
    Path("billing-output.jsonl").write_text(json.dumps(output) + "\n")
    log = es.read_logs("billing-output.jsonl")
    assert log.select("item_id", "benchmark", "text").row(0) == ("billing-1", "billing-output", "42")
    assert log["token_logprobs"].to_list() == [pytest.approx([-0.1, -0.7])]
    assert es.features(log)["reason"].to_list() == [None]


@pytest.mark.parametrize("server", ["vLLM", "llama.cpp"])
def test_a_server_of_your_own(server: str, tmp_path: Path) -> None:
    """llama.cpp's reply is of the form that its source writes; tests/study/engines has the real servers."""
    (call,) = re.findall(rf"^\| {re.escape(server)} .*`(OpenAI\(.*\))` \|", PAGE, re.MULTILINE)
    steps = [llama_step("4", -0.1), llama_step("2", -0.7)]
    reply = llama_chat(steps) if server == "llama.cpp" else completion("42", STEPS)
    with fake_api(lambda *_: ok(reply)) as api:
        call = re.sub(r"http://localhost:\d+/v1", api.base_url, call)
        client = es.capture(eval(call, {"OpenAI": OpenAI}), tmp_path)
        client.chat.completions.create(model="m", messages=user("6*7"))
        assert api.requests[0]["top_logprobs"] == 20
    log = capture_log(client, tmp_path)
    assert log["text"].to_list() == ["42"]
    assert log["token_logprobs"].to_list() == [pytest.approx([-0.1, -0.7])]
    assert es.features(log)["reason"].to_list() == [None]


def test_an_export_of_langfuse_with_whole_replies(tmp_path: Path) -> None:
    """Langfuse's API and exports have `input` and `output` as JSON or as its text."""
    asked, metadata = user("6*7"), {"route": "billing"}
    output = ChatCompletion.model_validate(completion("42", STEPS)).model_dump(mode="json")
    rows = [{"input": asked, "output": output}, {"input": asked, "output": json.dumps(output)}]
    core = {"id": "o", "traceId": "t", "type": "GENERATION", "startTime": "2026-11-23T08:00:00Z", "metadata": metadata}
    (tmp_path / "export.jsonl").write_text("".join(json.dumps({**core, **row}) + "\n" for row in rows))
    command = snippet("Langfuse and OpenTelemetry", "sh").replace("jq", find_program("jq", "jq"), 1)
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    log = es.read_logs(tmp_path / "log.jsonl")
    # Both rows have the same reply, which counts once.
    assert log.select("text", "metadata.route").rows() == [("42", "billing")]
    assert log["token_logprobs"].to_list() == [pytest.approx([-0.1, -0.7])]


@pytest.mark.slow
@skip_without((PROGRAMS / "python").exists(), "Langfuse", "make .venv/programs/installed")
def test_langfuse_and_capture_together(api: FakeApi, tmp_path: Path) -> None:
    asks = 'client.chat.completions.create(model="m", messages=[{"role": "user", "content": "6*7"}], name="answer")'
    script = f"{snippet('Langfuse and OpenTelemetry')}\n{asks}\n"
    environment = {**os.environ, "LANGFUSE_TRACING_ENABLED": "false"}
    command = [PROGRAMS / "python", "-c", script]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert es.read_logs(tmp_path / "logs")["text"].to_list() == ["42"]
