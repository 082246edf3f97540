"""A vLLM server for a model with weights: its command, and one that runs for as long as a block of code."""

import contextlib
import ctypes
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from entropy_sentinel.core.errors import EntropySentinelError
from entropy_sentinel.llm_client.server_settings import ServedSettings
from entropy_sentinel.schemas.generation_schema import TOP_K
from entropy_sentinel.study.engines import cpu_settings
from entropy_sentinel.study.engines.engine_pool import claim_devices
from entropy_sentinel.study.engines.engine_run import EngineRun

log = logging.getLogger(__name__)

# Seconds between checks of a starting server; seconds that a server has to end before it is killed.
POLL_S, STOP_S = 0.5, 20.0
_PR_SET_PDEATHSIG = 1  # of prctl(2)


def build_server_command(settings: ServedSettings, host: str, port: int) -> list[str]:
    """The command that serves a model, loaded as the vLLM engine would load it, under its name in the config."""
    name, lora = settings["model"], {}
    if settings["lora"] is not None:
        # The adapter is served under the model's name.
        name = f"{settings['model']}-base"
        lora = {"enable_lora": True, "lora_modules": [f"{settings['model']}={settings['lora']}"]}
    arguments = {
        "model": settings["weights"],
        "revision": None if settings["local"] else settings["revision"],
        "served_model_name": name,
        "host": host,
        "port": port,
        "max_logprobs": TOP_K,
        "logprobs_mode": "raw_logprobs",
        # Else the server mixes the sampling parameters of the model's authors (top_k, top_p) into every request.
        "generation_config": "vllm",
        "seed": settings["seed"],
        **lora,
        **cpu_settings.build_engine_arguments(settings),
    }
    # The command `vllm` looks for a distribution of that name, which CPU builds do not have.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    for argument, value in arguments.items():
        command += format_option(argument, value)
    return command


def build_server_environment(settings: ServedSettings, threads: int) -> dict[str, str]:
    """The variables to add to the server's environment, to compute on `threads` CPU cores."""
    # The date in gpt-oss's prompt on a server.
    pinned = {"VLLM_SYSTEM_START_DATE": settings["template_date"]} if settings["template_date"] else {}
    return pinned | cpu_settings.build_environment(settings, threads)


def format_option(name: str, value: Any) -> list[str]:
    """A keyword argument of vllm.LLM as words of the server's command line."""
    option = name.replace("_", "-")
    if value is None:
        return []
    if isinstance(value, bool):
        return [f"--{option}" if value else f"--no-{option}"]
    if isinstance(value, list | tuple):
        return [f"--{option}", *map(str, value)]
    return [f"--{option}", json.dumps(value) if isinstance(value, dict) else str(value)]


@contextmanager
def run_server(settings: ServedSettings, threads: int) -> Iterator[str]:
    """Serve a model on free GPUs of this machine while the block runs; yield the base URL.

    The server writes to this process's output. It ends with the block, or with this process, even if it is killed.
    Raises EntropySentinelError if the server ends before it is up, for example because it refuses an argument.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]  # a free one
    begin = time.monotonic()
    claim = claim_devices(EngineRun.from_environment(), settings, threads)
    server = subprocess.Popen(
        [*build_server_command(settings, "127.0.0.1", port), "--disable-uvicorn-access-log"],
        env=os.environ | build_server_environment(settings, threads) | claim.environment,
        stdin=subprocess.DEVNULL,
        # Its own group: Ctrl-C reaches only this process, which then ends the server and its children.
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )
    try:
        while not _is_up(port):
            if server.poll() is not None:
                raise EntropySentinelError(
                    f"models.{settings['model']}: the vLLM server ended before it was up, with exit status "
                    f"{server.returncode}; its output is above in this log"
                )
            time.sleep(POLL_S)
        log.info("the server of %s is up after %.0f s", settings["model"], time.monotonic() - begin)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        _stop_server(server)
        claim.release()


def _is_up(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _stop_server(server: subprocess.Popen[bytes]) -> None:
    """End the server and its process group: first by a request, then by force."""
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(timeout=STOP_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _end_with_parent() -> None:
    """Let the kernel end this process when its parent has died, even if that was killed; only Linux can."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
