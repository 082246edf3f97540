"""Settings that a CPU build of vLLM needs in addition, if such a build is installed.

They are added in the process that loads vLLM, not to the settings by which Snakemake compares results. So opening a
study of a GPU machine on a laptop, or changing the number of threads, generates nothing again. The study's own settings
take precedence.
"""

import importlib.metadata
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entropy_sentinel.engines.generation import ServedSettings

ARGUMENTS: Mapping[str, Any] = {
    "dtype": "float32",
    # Compilation wants a C++ compiler, and takes longer than it saves on most studies.
    "enforce_eager": True,
    # Does not go together with a seed per request.
    "enable_chunked_prefill": False,
    # Of the cache of prefixes, tokens: contexts that begin alike share whole blocks, and 128, the default, is longer
    # than many responses. The kernels of a CPU take multiples of 32. Responses are the same to the bit.
    "block_size": 32,
}
ENVIRONMENT: Mapping[str, str] = {
    # Engines side by side must not be bound to the same cores.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "TORCH_COMPILE_DISABLE": "1",
}
# The cache of keys and values, GiB: without it the engine takes nearly all memory, and refuses where others use some.
# Responses that do not fit into it wait for their turn, so that a small one is slow for a large model.
_CACHE = "VLLM_CPU_KVCACHE_SPACE"
_MOST_CACHE_GIB = 16
# What Linux says of the cores, and its words for instructions that multiply bfloat16: x86's two kinds, and ARM's.
_DESCRIBED = Path("/proc/cpuinfo")
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


def is_cpu_build() -> bool:
    """Whether the installed vLLM is a build for CPUs, as vLLM itself tells it; False where there is none."""
    for name in ("vllm", "vllm-cpu"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return "cpu" in f"{name} {version}" or sys.platform == "darwin"
    return False


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def multiplies_bfloat16(described: Path = _DESCRIBED) -> bool:
    """Whether this CPU has instructions for bfloat16, by what Linux says of it; False where nothing is said.

    With them a model of 0.5B made 1.6 times the tokens that it made in float32 (`make bench-cpu`); without, each number
    is turned into float32 and back.
    """
    lines = described.read_text("utf-8").splitlines() if described.is_file() else []
    flags = {flag for line in lines if line.lower().startswith(("flags", "features")) for flag in line.split()}
    return not _BFLOAT16.isdisjoint(flags)


def environment(settings: ServedSettings, threads: int) -> dict[str, str]:
    """What is set before vLLM, and torch with it, is loaded to compute on `threads` cores; with the settings' own.

    It computes in no more threads than there are cores, where they would wait for each other. What the settings say of
    OMP_NUM_THREADS holds for MKL_NUM_THREADS too: torch believes that one first, and Snakemake sets both.
    """
    given = settings["environment"]
    number = given.get("OMP_NUM_THREADS", str(min(threads, cores())))
    return {"OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number} | _environment_added(settings, threads) | given


def engine_arguments(settings: ServedSettings) -> dict[str, Any]:
    """The settings' engine arguments, and what this build needs beside them."""
    return settings["engine_args"] | _arguments_added(settings)


def told(settings: ServedSettings, threads: int) -> dict[str, str]:
    """A fact for the provenance of traces: what was added to the settings; nothing where nothing was.

    Not the threads, which are another number on every machine.
    """
    values = _arguments_added(settings) | _environment_added(settings, threads)
    return {"cpu_settings": ", ".join(f"{key}={value}" for key, value in values.items())} if values else {}


def _arguments_added(settings: ServedSettings) -> dict[str, Any]:
    if not is_cpu_build():
        return {}
    return {key: value for key, value in ARGUMENTS.items() if key not in settings["engine_args"]}


def _environment_added(settings: ServedSettings, threads: int) -> dict[str, str]:
    if not is_cpu_build():
        return {}
    needed = {**ENVIRONMENT, _CACHE: str(_cache_gib(threads))}
    return {key: value for key, value in needed.items() if key not in settings["environment"]}


def _cache_gib(threads: int) -> int:
    """A quarter of the machine's memory, by the share of its cores: engines side by side share both."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    share = min(threads / cores(), 1)
    return max(1, min(_MOST_CACHE_GIB, int(memory * share / 2**32)))
