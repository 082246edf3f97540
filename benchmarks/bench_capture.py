"""Measure the cost of capture: an OpenAI client with and without it, against a server that answers at once.

Run by `make bench-capture`. Each reply has 200 tokens with 20 alternatives, about 400 kB of JSON; both sides request
log-probabilities, so that only capture differs. Prints requests/s, the 50th and 99th percentile of the time of a
request, CPU seconds of the client, and one JSON object as its last line.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from fake_api import completion, fake_api, ok, step, user
from openai import AsyncOpenAI

import entropy_sentinel as es

TOKENS, AT_A_TIME = 200, 8


def serve(ready: Any) -> None:
    """Answer every request with the same bytes, until the process is ended."""
    body = json.dumps(completion("a" * TOKENS, [step() for _ in range(TOKENS)])).encode()
    with fake_api(lambda *_: ok(body)) as api:
        ready.put(api.base_url)
        time.sleep(10**6)


async def ask(client: AsyncOpenAI, requests: int) -> list[float]:
    """The seconds that each request took."""
    turns = asyncio.Semaphore(AT_A_TIME)

    async def once() -> float:
        async with turns:
            start = time.perf_counter()
            await client.chat.completions.create(model="m", messages=user("6*7"), logprobs=True, top_logprobs=20)
            return time.perf_counter() - start

    return await asyncio.gather(*(once() for _ in range(requests)))


def measured(base_url: str, requests: int, folder: Path | None) -> dict[str, float]:
    """Measure one side; if `folder` is given, replies are captured to it."""
    client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
    if folder is not None:
        client = es.capture(client, folder)
    begin, cpu = time.perf_counter(), time.process_time()
    times = asyncio.run(ask(client, requests))
    wall_s = time.perf_counter() - begin
    result = {
        "requests_per_s": round(requests / wall_s, 1),
        "p50_ms": round(1000 * float(np.quantile(times, 0.5)), 1),
        "p99_ms": round(1000 * float(np.quantile(times, 0.99)), 1),
        "cpu_ms_per_request": round(1000 * (time.process_time() - cpu) / requests, 1),
    }
    if folder is not None:
        writer = client._client._transport.writer
        writer.close(patience_s=600)
        size = sum(path.stat().st_size for path in folder.iterdir())
        result |= {
            "written": writer.written,
            "dropped": writer.dropped,
            "kib_per_reply": round(size / requests / 1024, 1),
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=500)
    arguments = parser.parse_args()
    context = get_context("spawn")
    ready = context.Queue()
    server = context.Process(target=serve, args=(ready,), daemon=True)
    server.start()
    base_url = ready.get()
    with tempfile.TemporaryDirectory() as folder:
        measured(base_url, 20, None)
        sides = {
            "captured": measured(base_url, arguments.requests, Path(folder, "logs")),
            "not captured": measured(base_url, arguments.requests, None),
        }
    server.terminate()
    print(json.dumps({"requests": arguments.requests, "tokens": TOKENS, **sides}))


if __name__ == "__main__":
    sys.exit(main())
