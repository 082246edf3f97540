"""Measure tokens per second on a CPU: a generation job's engine against `LLM.chat` with vLLM's defaults, in one run.

All runs ask the same questions, answer each with the same number of tokens and return the 20 largest log-probabilities;
each is a separate process, timed from when the model is loaded and has answered once. For our engine, one setting is
changed at a time: threads, number type, concurrent responses. With `--gguf` and `--llama-server`, llama.cpp's server
also answers, with and without log-probabilities. Run by `make bench-cpu ARGS="--model folder/with/weights"` on a
quiet machine; prints one JSON object as its last line.
"""

import argparse
import json
import os
import platform
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines import cpu_settings
from entropy_sentinel.study.engines.engine_registry import PROMPTS
from entropy_sentinel.study.engines.vllm_engine import VllmEngine
from entropy_sentinel.study.jobs.job_logs import job_log

ROOT = Path(__file__).parents[1]
MAX_MODEL_LEN, SEED, TEMPERATURE, START_S = 512, 42, 0.5, 300
Chats = list[list[dict[str, str]]]


@dataclass(frozen=True)
class Side:
    """The settings of one run; `logprobs` is false if llama.cpp is asked for the text only."""

    engine: str  # ours, vllm or llama.cpp
    responses: int  # at a time
    threads: int | None = None  # None leaves it to vLLM
    dtype: str = "bfloat16"
    logprobs: bool = True

    @property
    def name(self) -> str:
        threads = "own threads" if self.threads is None else f"{self.threads} threads"
        words = [self.engine, threads, "" if self.engine == "llama.cpp" else self.dtype, f"{self.responses} at a time"]
        return ", ".join(filter(None, [*words, "" if self.logprobs else "text alone"]))


def questions(number: int) -> Chats:
    """Questions from the demo's benchmarks in turn, each in the paper's prompt."""
    files = sorted((ROOT / "demo" / "benchmarks").glob("*.jsonl"))
    rows = [file.read_text().splitlines()[: -(-number // len(files))] for file in files]
    results = [json.loads(row)["question"] for turn in zip(*rows, strict=True) for row in turn][:number]
    return [
        [dict(message) for message in PROMPTS["solve-step-by-step"].render(question=question)] for question in results
    ]


def timed(answer: Callable[[Chats], int], chats: Chats, process: psutil.Process) -> dict[str, float]:
    """Tokens, seconds and CPU seconds of answering `chats`, after one answer that does not count.

    CPU seconds are those of `process` and its children.
    """

    def cpu_s() -> float:
        times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
        return sum(one.user + one.system for one in times)

    answer(chats[:1])
    wall, used = time.perf_counter(), cpu_s()
    tokens = answer(chats)
    wall, used = time.perf_counter() - wall, cpu_s() - used
    family = (process, *process.children(recursive=True))
    return {
        "tokens": tokens,
        "tokens_per_s": round(tokens / wall, 2),
        "wall_s": round(wall, 2),
        "cpu_s": round(used, 2),
        "memory_mib": sum(one.memory_info().rss for one in family) // 2**20,
    }


def ours(side: Side, model: str, chats: Chats, tokens: int) -> dict[str, Any]:
    """The engine of a generation job."""
    settings: dict[str, Any] = {
        **{"model": "bench", "weights": model, "local": True, "lora": None, "seed": SEED, "environment": {}},
        "engine_args": {"dtype": side.dtype, "max_model_len": MAX_MODEL_LEN},
        "sampling": {"temperature": TEMPERATURE, "max_tokens": tokens, "ignore_eos": True},
        **{"chat_template_kwargs": {}, "template_date": None, "keep_top_token_ids": False},
    }
    engine = VllmEngine(settings, side.threads)  # type: ignore[arg-type]

    def answer(asked: Chats) -> int:
        return sum(len(one.token_logprobs) for _, one in engine.answer(asked, range(len(asked))))

    return {**timed(answer, chats, psutil.Process()), **engine.provenance}


def vllm(side: Side, model: str, chats: Chats, tokens: int) -> dict[str, Any]:
    """`LLM.chat`, its threads, processes and cache as vLLM chooses them.

    The cache is bounded, for vLLM would take nearly all memory, and chunked prefill is off, which a CPU build cannot do
    with a seed for each request.
    """
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", *cpu_settings.ENVIRONMENT):
        os.environ.pop(name, None)
    os.environ["VLLM_CPU_KVCACHE_SPACE"] = "4"
    import vllm as library

    engine = library.LLM(
        model,
        dtype=side.dtype,
        max_model_len=MAX_MODEL_LEN,
        max_logprobs=TOP_K,
        enforce_eager=True,
        enable_chunked_prefill=False,
    )

    def answer(asked: Chats) -> int:
        sampling = [
            library.SamplingParams(
                temperature=TEMPERATURE, max_tokens=tokens, ignore_eos=True, seed=seed, logprobs=TOP_K
            )
            for seed in range(len(asked))
        ]
        return sum(len(one.outputs[0].token_ids) for one in engine.chat(asked, sampling, use_tqdm=False))

    return {**timed(answer, chats, psutil.Process()), "engine": "vllm", "engine_version": library.__version__}


def llama(side: Side, gguf: str, server: str, chats: Chats, tokens: int, log: str) -> dict[str, Any]:
    """Measure llama.cpp's server, with as many concurrent requests as it has slots."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places = {"-np": side.responses, "-c": side.responses * MAX_MODEL_LEN, "-t": side.threads}
    words = [server, "-m", gguf, "--host", "127.0.0.1", "--port", port, *(w for pair in places.items() for w in pair)]
    more = {"logprobs": True, "top_logprobs": TOP_K} if side.logprobs else {}

    def one(asked: tuple[int, list[dict[str, str]]]) -> int:
        seed, chat = asked
        sampling = {"temperature": TEMPERATURE, "max_tokens": tokens, "seed": seed, "ignore_eos": True}
        reply = send(port, "/v1/chat/completions", {"messages": chat, **sampling, **more})
        steps = (reply["choices"][0].get("logprobs") or {}).get("content") or []
        if side.logprobs and (not steps or min(len(step["top_logprobs"]) for step in steps) < TOP_K):
            raise RuntimeError(f"{server} returned fewer than {TOP_K} log-probabilities")
        return reply["usage"]["completion_tokens"]

    def answer(asked: Chats) -> int:
        with ThreadPoolExecutor(side.responses) as threads:
            return sum(threads.map(one, enumerate(asked)))

    with open(log, "w") as output, subprocess.Popen(list(map(str, words)), stdout=output, stderr=output) as process:
        try:
            wait_for(port, process, log)
            return {**timed(answer, chats, psutil.Process(process.pid)), "engine": "llama.cpp"}
        finally:
            process.terminate()


def send(port: int, path: str, content: dict[str, Any] | None = None) -> Any:
    """The reply of a server on this machine."""
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)


def wait_for(port: int, process: subprocess.Popen[Any], log: str) -> None:
    """Wait until the server is up; raise RuntimeError with the end of its log if it ends first or takes too long."""
    end = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < end:
        try:
            send(port, "/health")
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise RuntimeError(f"the server is not up: {Path(log).read_text()[-2000:]}")


def in_log(log: str, run: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run one side in this process, with its output in a log; end the processes that it has started."""
    with job_log(log):
        try:
            return run(*arguments)
        finally:
            for started in psutil.Process().children(recursive=True):
                started.kill()


def measured(side: Side, arguments: argparse.Namespace, folder: str) -> dict[str, Any]:
    """Measure one run in a separate process, which may start further processes."""
    chats, log = questions(side.responses), f"{folder}/run.log"
    if side.engine == "llama.cpp":
        return llama(side, arguments.gguf, arguments.llama_server, chats, arguments.tokens, log)
    run = ours if side.engine == "ours" else vllm
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        try:
            return process.submit(in_log, log, run, side, arguments.model, chats, arguments.tokens).result()
        except (SystemExit, Exception):
            print(Path(log).read_text()[-3000:])
            raise


def sides(batches: Sequence[int], llama_batches: Sequence[int], cores: int) -> list[Side]:
    """All runs; the ratios use those with the most concurrent responses."""
    most = max(batches)
    return [
        Side("vllm", most),
        Side("ours", most, 1),
        *(Side("ours", batch, cores) for batch in sorted(batches)),
        Side("ours", most, cores, "float32"),
        *(Side("llama.cpp", batch, cores, logprobs=asked) for batch in llama_batches for asked in (True, False)),
    ]


def ratios(speeds: dict[Side, float], batches: Sequence[int], cores: int) -> dict[str, float]:
    """Ratios of speeds, first those of our engine on all cores with the most concurrent responses."""
    most = max(batches)
    best = speeds[Side("ours", most, cores)]
    over = {
        "ratio": Side("vllm", most),
        "ratio_of_all_threads_to_one": Side("ours", most, 1),
        "ratio_of_bfloat16_to_float32": Side("ours", most, cores, "float32"),
        "ratio_of_most_to_fewest_at_a_time": Side("ours", min(batches), cores),
    }
    return {name: round(best / speeds[side], 3) for name, side in over.items()}


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="demo/models/tiny-1m", help="folder of weights")
    parser.add_argument("--tokens", type=int, default=64, help="tokens of each response")
    parser.add_argument("--batches", type=numbers, default=[1, 8, 32, 64], help="responses at a time")
    parser.add_argument("--gguf", help="the same model for llama.cpp")
    parser.add_argument("--llama-server", help="program of llama.cpp's server")
    parser.add_argument("--llama-batches", type=numbers, default=[1, 8], help="responses at a time, llama.cpp")
    arguments = parser.parse_args()
    if bool(arguments.gguf) != bool(arguments.llama_server):
        parser.error("give both --gguf and --llama-server, or neither")
    os.chdir(ROOT)
    cores = cpu_settings.count_cores()
    chosen = sides(arguments.batches, arguments.llama_batches if arguments.gguf else [], cores)
    runs: dict[Side, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for side in dict.fromkeys(chosen):
            runs[side] = measured(side, arguments, folder)
            print(f"{side.name}: {runs[side]['tokens_per_s']} tokens/s", runs[side], flush=True)
    results = ratios({side: run["tokens_per_s"] for side, run in runs.items()}, arguments.batches, cores)
    print(
        json.dumps(
            {
                "benchmark": "cpu",
                **results,
                "of": f"tokens per second of a generation job's engine on {cores} threads, bfloat16, "
                f"{max(arguments.batches)} responses at a time, over those of LLM.chat with vLLM's defaults",
                "model": arguments.model,
                "tokens_per_response": arguments.tokens,
                "cores": cores,
                "machine": platform.machine(),
                "memory_gib": psutil.virtual_memory().total // 2**30,
                "runs": [{"name": side.name, **asdict(side), **run} for side, run in runs.items()],
            }
        )
    )


if __name__ == "__main__":
    main()
