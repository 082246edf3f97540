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

from entropy_sentinel.llm_client.server_settings import ServedSettings

ARGUMENTS: Mapping[str, Any] = {
    "dtype": "float32",
    # Compilation needs a C++ compiler, and takes longer than it saves in most studies.
    "enforce_eager": True,
    # Incompatible with a seed per request.
    "enable_chunked_prefill": False,
    # Tokens per block of the prefix cache: contexts with a common prefix share whole blocks, and the default, 128, is
    # longer than many responses. CPU kernels take multiples of 32. Responses are identical to the bit.
    "block_size": 32,
}
ENVIRONMENT: Mapping[str, str] = {
    # Concurrent engines must not be pinned to the same cores.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "TORCH_COMPILE_DISABLE": "1",
}
# The cache of keys and values, GiB: without a size the engine takes nearly all memory, and fails if others use some.
# Responses that do not fit wait, so a small cache is slow for a large model.
_CACHE = "VLLM_CPU_KVCACHE_SPACE"
_MOST_CACHE_GIB = 16
# Linux's description of the cores, and its flags for bfloat16 multiplication: two of x86, one of ARM.
_CPUINFO = Path("/proc/cpuinfo")
_BFLOAT16 = frozenset({"avx512_bf16", "amx_bf16", "bf16"})


def is_cpu_build() -> bool:
    """Whether the installed vLLM is a CPU build, by vLLM's own criterion; False without vLLM."""
    for name in ("vllm", "vllm-cpu"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return "cpu" in f"{name} {version}" or sys.platform == "darwin"
    return False


def count_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def has_bfloat16_instructions(cpuinfo: Path = _CPUINFO) -> bool:
    """Whether this CPU has instructions for bfloat16, according to Linux; False if unknown.

    With them, a 0.5B model is 1.6 times as fast as in float32 (`make bench-cpu`). Without them, each number is
    converted to float32 and back.
    """
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.is_file() else []
    flags = set[str]()
    for line in lines:
        if line.lower().startswith(("flags", "features")):
            flags.update(line.split())
    return not _BFLOAT16.isdisjoint(flags)


def build_environment(settings: ServedSettings, threads: int) -> dict[str, str]:
    """The variables to set before vLLM and torch are loaded, to compute on `threads` cores.

    They include the settings' own. The number of threads is at most the number of cores. OMP_NUM_THREADS in the
    settings also sets MKL_NUM_THREADS, which takes precedence in torch, because Snakemake sets both.
    """
    user_variables = settings["environment"]
    n_threads = user_variables.get("OMP_NUM_THREADS", str(min(threads, count_cores())))
    return (
        {"OMP_NUM_THREADS": n_threads, "MKL_NUM_THREADS": n_threads}
        | _find_missing_variables(settings, threads)
        | user_variables
    )


def build_engine_arguments(settings: ServedSettings) -> dict[str, Any]:
    """The settings' engine arguments, with those that this build needs in addition."""
    return settings["engine_args"] | _find_missing_arguments(settings)


def describe_cpu_defaults(settings: ServedSettings, threads: int) -> dict[str, str]:
    """The engine arguments and variables that a CPU build gets beyond the user's, for the provenance of traces.

    An empty dict if there are none. The number of threads is left out, because it differs between machines.
    """
    values = _find_missing_arguments(settings) | _find_missing_variables(settings, threads)
    return {"cpu_settings": ", ".join(f"{key}={value}" for key, value in values.items())} if values else {}


def _find_missing_arguments(settings: ServedSettings) -> dict[str, Any]:
    """The engine arguments that a CPU build needs and the user has not set; none for a build for GPUs."""
    if not is_cpu_build():
        return {}
    return {key: value for key, value in ARGUMENTS.items() if key not in settings["engine_args"]}


def _find_missing_variables(settings: ServedSettings, threads: int) -> dict[str, str]:
    """The environment variables that a CPU build needs and the user has not set; none for a build for GPUs."""
    if not is_cpu_build():
        return {}
    variables = {**ENVIRONMENT, _CACHE: str(_compute_cache_gib(threads))}
    return {key: value for key, value in variables.items() if key not in settings["environment"]}


def _compute_cache_gib(threads: int) -> int:
    """A quarter of the memory that belongs to the engine's share of the cores, GiB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    share = min(threads / count_cores(), 1)
    # 2**32 bytes are 4 GiB: the quotient is a quarter of the GiB.
    return max(1, min(_MOST_CACHE_GIB, int(memory * share / 2**32)))
