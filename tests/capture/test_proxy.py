"""LiteLLM's real proxy in front of vLLM's real server: everything that a client got is in the log, after a kill too."""

import asyncio
import json
import os
import signal
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from openai import AsyncOpenAI
from serving import free_port, serving

import entropy_sentinel as es

ROOT = Path(__file__).parents[2]
REQUESTS, AT_A_TIME = 500, 16
KEY = "sk-test-" + "c3" * 12
CONFIG = """
model_list:
  - model_name: tiny
    litellm_params: {{model: hosted_vllm/tiny-1m, api_base: "http://127.0.0.1:{port}/v1", api_key: none}}
litellm_settings:
  callbacks: entropy_sentinel.capture.litellm.callback
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.nightly,
    pytest.mark.skipif(
        find_spec("vllm") is None or find_spec("apscheduler") is None,
        reason="vLLM or LiteLLM's proxy is not installed (pip install --no-deps -r envs/litellm-proxy.txt)",
    ),
]


async def ask(client: AsyncOpenAI, number: int) -> tuple[str, str]:
    """The id and text of a reply; every third is a stream."""
    question = {"model": "tiny", "messages": [{"role": "user", "content": f"{number}+{number}"}], "max_tokens": 12}
    metadata = {"route": f"route-{number % 4}"}
    if number % 3:
        reply = await client.chat.completions.create(**question, extra_body={"metadata": metadata})
        return reply.id, reply.choices[0].message.content or ""
    identity, text = "", ""
    async for chunk in await client.chat.completions.create(**question, stream=True, extra_body={"metadata": metadata}):
        identity = chunk.id
        text += "".join(choice.delta.content or "" for choice in chunk.choices)
    return identity, text


async def ask_all(port: int) -> dict[str, str]:
    turns = asyncio.Semaphore(AT_A_TIME)
    async with AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY, timeout=300) as client:

        async def in_turn(number: int) -> tuple[str, str]:
            async with turns:
                return await ask(client, number)

        return dict(await asyncio.gather(*map(in_turn, range(REQUESTS))))


def test_five_hundred_requests_through_the_proxy(tmp_path: Path) -> None:
    model, proxy, workflow = free_port(), free_port(), str(ROOT / "workflow")
    (tmp_path / "config.yaml").write_text(CONFIG.format(port=model))
    serve = [sys.executable, "-m", "entropy_sentinel", "serve", "tiny-1m", "--port", str(model)]
    start_proxy = [
        *(sys.executable, "-c", "from litellm.proxy.proxy_cli import run_server; run_server()"),
        *("--config", str(tmp_path / "config.yaml"), "--host", "127.0.0.1", "--port", str(proxy)),
    ]
    settings = {
        "PYTHONPATH": workflow,
        "LITELLM_MASTER_KEY": KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "ENTROPY_SENTINEL_LOGS": str(tmp_path / "logs"),
    }
    with (
        serving(
            [*serve, "--configfile", "demo/config.yaml"],
            tmp_path / "vllm",
            f"http://127.0.0.1:{model}/health",
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": workflow},
        ),
        serving(
            start_proxy,
            tmp_path / "proxy",
            f"http://127.0.0.1:{proxy}/health/liveliness",
            env=os.environ | settings,
        ) as server,
    ):
        got = asyncio.run(ask_all(proxy))
        time.sleep(2)  # LiteLLM logs after it has answered
        os.killpg(server.pid, signal.SIGKILL)
    log = es.read_logs(tmp_path / "logs")
    assert dict(log.select("item_id", "text").iter_rows()) == got
    assert len(got) == REQUESTS
    assert log["token_logprobs"].list.len().min() > 0
    assert log["metadata.route"].value_counts().sort("metadata.route")["count"].to_list() == 4 * [REQUESTS // 4]
    assert KEY not in json.dumps([path.read_bytes().hex() for path in (tmp_path / "logs").iterdir()])
    assert es.features(log)["reason"].null_count() == REQUESTS
