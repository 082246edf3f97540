"""One part of `make bench-gpu` in a process of its own: an engine's speed on a shape, written to a file step by step.

`bare` is vLLM in this process, without log-probabilities, with a dict per token, and flat. `stage` is the generation
stage with its engine process. `server` is the same stage with vLLM's own HTTP server, read by the engine for servers.
All answer the same questions with the same seeds. CPU seconds include all processes.
"""

import ctypes
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import psutil
import yaml

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import announce_servers, generation_settings
from entropy_sentinel.study.engines import cpu_settings
from entropy_sentinel.study.engines.engine_run import EngineRun
from entropy_sentinel.study.engines.vllm_server import run_server
from entropy_sentinel.study.stages import generation_stage
from shapes import spread_weights
from shapes.model_folder import load_shapes, write_model_folder

ROOT = Path(__file__).parents[1]
_PR_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_WARM_UP_TOKENS = 8
_MEMORY_S = 0.5
# What a CPU build loads of every shape.
SCALED_DOWN = {"scaled_down": True, "text_only": True, "quantized": False}


@dataclass(frozen=True)
class Part:
    """What to measure: `bare`, `stage` or `server` of a shape, so many answers of so many tokens."""

    shape: str
    kind: str
    answers: int
    tokens: int
    scaled_down: bool
    threads: int

    @property
    def name(self) -> str:
        return f"{self.shape} {self.kind}"


@dataclass(frozen=True)
class Measurement:
    """What a run took after its engine had started and had answered once.

    `client_cpu_s` is the CPU time of the process that reads the answers, `start_s` the seconds until the first answer.
    """

    run: str
    tokens: int
    wall_s: float
    cpu_s: float
    client_cpu_s: float
    start_s: float
    gpu_mib: int | None = None
    bytes_per_token: float | None = None

    def as_row(self) -> dict[str, Any]:
        row = {key: round(value, 3) if isinstance(value, float) else value for key, value in asdict(self).items()}
        speed, cpu = self.tokens / self.wall_s, 1000 * self.cpu_s / self.tokens
        return {**row, "tokens_per_s": round(speed, 1), "cpu_s_per_1000_tokens": round(cpu, 2)}


class Clock:
    """Seconds and CPU seconds of this process and all that it started, also of those that have ended or left it."""

    def __init__(self) -> None:
        # Engines' processes outlive the process that starts them.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._begin, self._engine_s = time.perf_counter(), 0.0
        self._start = self._now()

    @staticmethod
    def _now() -> tuple[float, float, float]:
        used = psutil.Process().cpu_times()
        seconds = used.user + used.system
        everyone = seconds + used.children_user + used.children_system
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                of_process = process.cpu_times()
                everyone += of_process.user + of_process.system + of_process.children_user + of_process.children_system
        return time.perf_counter(), everyone, seconds

    def mark_engine(self) -> None:
        """The engine has started."""
        self._engine_s = time.perf_counter() - self._begin

    def restart(self) -> None:
        """The next run begins."""
        self._start = self._now()

    def measure(self, run: str, tokens: int) -> Measurement:
        wall, everyone, client = (now - start for now, start in zip(self._now(), self._start, strict=True))
        return Measurement(run, tokens, wall, everyone, client, self._engine_s, peak_gpu_memory.mib)


class GpuMemory(threading.Thread):
    """The largest memory in use on the GPU, MiB, as nvidia-smi reports it; None without one."""

    mib: int | None = None

    def run(self) -> None:
        command = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
        while True:
            try:
                lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                self.mib = max(self.mib or 0, *map(int, lines))
            except (OSError, subprocess.CalledProcessError, ValueError):
                return
            time.sleep(_MEMORY_S)


peak_gpu_memory = GpuMemory(daemon=True)


def write_questions(number: int, path: Path) -> None:
    """Write questions from the demo's benchmarks in turn, over again if there are too few."""
    files = sorted((ROOT / "demo" / "benchmarks").glob("*.jsonl"))
    rows = [json.loads(row)["question"] for lines in zip(*map(_lines, files), strict=False) for row in lines]
    ids = [f"q{place:05d}" for place in range(number)]
    asked = [rows[place % len(rows)] for place in range(number)]
    columns = {"item_id": ids, "question": asked, "reference": [None] * number, "duplicate_of": ids}
    BENCHMARKS.write(BENCHMARKS.frame(columns), path, {})


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


def engine_arguments(part: Part) -> dict[str, Any]:
    """Return the engine's arguments: those of the study, and what a made-up model needs."""
    arguments = {"load_format": spread_weights.FORMAT, "max_model_len": 1024 + part.tokens}
    if "vision_config" in load_shapes()[part.shape]["config"] and not part.scaled_down:
        arguments["language_model_only"] = True  # made-up folders have no settings for pictures
    return arguments | ({"max_num_seqs": part.answers, "dtype": "float32"} if part.scaled_down else {})


def build_settings(part: Part, folder: Path, *, served_at: str | None = None) -> dict[str, Any]:
    """Return the settings of a generation job of the paper's study on this shape."""
    model: dict[str, Any] = {"sampling": {"max_tokens": part.tokens}}
    if served_at:
        model["api"] = {"model": f"hosted_vllm/{part.shape}", "base_url": served_at, "concurrency": part.answers}
    else:
        model |= {"path": str(folder / "model"), "engine_args": engine_arguments(part), "template_date": "2025-11-01"}
    run = {
        "models": [part.shape],
        "benchmarks": ["averages"],
        "judges": ["math-verify"],
        "groups": [],
        "analyses": ["responses"],
    }
    ours = {"study": "bench", "run": run, "models": {part.shape: model}, "generation": {"threads": part.threads}}
    # The demo's benchmarks are files; its settings for a CPU are left out.
    demo = yaml.safe_load((ROOT / "demo/config.yaml").read_text())
    (folder / "study.yaml").write_text(yaml.safe_dump({**ours, "benchmarks": demo["benchmarks"]}))
    shapes = yaml.safe_load((ROOT / "config.yaml").read_text())
    shapes["models"] = {}
    (folder / "base.yaml").write_text(yaml.safe_dump(shapes))
    config = load_config(read_config([str(folder / "base.yaml"), str(folder / "study.yaml")]))
    announce_servers(config)
    return dict(generation_settings(config, part.shape, "averages"))


def measure_stage(settings: dict[str, Any], run: str, part: Part, folder: Path, clock: Clock) -> Measurement:
    """Run the whole of `write_generations`, after one short answer of the same engine.

    `start_s` of both kinds of engines includes this answer.
    """
    make_engine, output = generation_stage.make_engine, folder / "results" / "generations" / run / "out.parquet"

    def make_ready(job: Any, threads: int) -> Any:
        # The job's engine process, with which an earlier job has asked a short question.
        short = make_engine({**job, "sampling": {**job["sampling"], "max_tokens": _WARM_UP_TOKENS}}, threads)
        for _ in short.answer([generation_stage.fill_prompt(job, "What is 1 + 1?")], [1]):
            clock.mark_engine()
        del short
        clock.restart()
        return make_engine(job, threads)

    generation_stage.make_engine = make_ready
    try:
        generation_stage.write_generations(str(folder / "items.parquet"), settings, part.threads, str(output))  # type: ignore[arg-type]
    finally:
        generation_stage.make_engine = make_engine
    tokens = pl.scan_parquet(output).select(pl.col("n_tokens").sum()).collect().item()
    return replace(clock.measure(run, tokens), bytes_per_token=output.stat().st_size / tokens)


def measure_bare(part: Part, folder: Path, clock: Clock) -> Iterator[Measurement]:
    """`vllm.LLM` on the same requests, its outputs thrown away."""
    settings = build_settings(part, folder)
    os.environ.update(cpu_settings.build_environment(settings, part.threads))  # type: ignore[arg-type]
    import vllm

    arguments = cpu_settings.build_engine_arguments(settings)  # type: ignore[arg-type]
    engine = vllm.LLM(settings["weights"], max_logprobs=TOP_K, seed=settings["seed"], **arguments)
    frame = BENCHMARKS.read(folder / "items.parquet")
    chats = [list(generation_stage.fill_prompt(settings, question)) for question in frame["question"]]  # type: ignore[arg-type]
    seeds = [generation_stage.derive_seed(settings["seed"], part.shape, item, 0) for item in frame["item_id"]]
    dated = {"strftime_now": lambda form: "2025-11-01"}
    short = vllm.SamplingParams(max_tokens=_WARM_UP_TOKENS)
    engine.chat(chats[:1], short, use_tqdm=False, chat_template_kwargs=dated)
    clock.mark_engine()
    ways = {"without": {}, "dicts": {"logprobs": TOP_K}, "flat": {"logprobs": TOP_K, "flat_logprobs": True}}
    for way, asked in ways.items():
        engine.reset_prefix_cache()
        clock.restart()
        sampling = [vllm.SamplingParams(**settings["sampling"], seed=seed, **asked) for seed in seeds]
        outputs = engine.chat(chats, sampling, use_tqdm=False, chat_template_kwargs=dated)
        yield clock.measure(f"bare, {way}", sum(len(output.outputs[0].token_ids) for output in outputs))


def measure_own_engine(part: Part, folder: Path, clock: Clock) -> Iterator[Measurement]:
    """The generation stage with an engine in its own process, as the jobs of a run share it."""
    os.environ.update(EngineRun.create(idle_s=60).announcement)
    yield measure_stage(build_settings(part, folder), "stage", part, folder, clock)


def measure_server(part: Part, folder: Path, clock: Clock) -> Iterator[Measurement]:
    """The generation stage with vLLM's server and the engine that reads servers."""
    with run_server(build_settings(part, folder), part.threads) as address:  # type: ignore[arg-type]
        settings = build_settings(part, folder, served_at=address)
        yield measure_stage(settings, "server", part, folder, clock)


KINDS: dict[str, Callable[[Part, Path, Clock], Iterator[Measurement]]] = {
    "bare": measure_bare,
    "stage": measure_own_engine,
    "server": measure_server,
}


def measure_part(part: Part, folder: Path, results: Path) -> None:
    """Measure a part and append each measurement to the file `results`, a JSON object a line."""
    os.chdir(ROOT)  # the demo names its files from there
    peak_gpu_memory.start()
    clock = Clock()
    write_model_folder(part.shape, folder / "model", **(SCALED_DOWN if part.scaled_down else {}))
    write_questions(part.answers, folder / "items.parquet")
    for measurement in KINDS[part.kind](part, folder, clock):
        with results.open("a") as lines:
            lines.write(json.dumps({"shape": part.shape, **measurement.as_row()}) + "\n")
