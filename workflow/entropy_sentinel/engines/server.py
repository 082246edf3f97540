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

from entropy_sentinel.engines import cpu
from entropy_sentinel.engines.generation import ServedSettings
from entropy_sentinel.engines.pool import claim_devices
from entropy_sentinel.engines.run import Run
from entropy_sentinel.frames.errors import EntropySentinelError
from entropy_sentinel.frames.generation import TOP_K

log = logging.getLogger(__name__)

# How often a server that starts is asked whether it is up; how long one that ends may take before it is killed.
POLL_S, STOP_S = 0.5, 20.0
_PR_SET_PDEATHSIG = 1  # of prctl(2)


def server_command(settings: ServedSettings, host: str, port: int) -> list[str]:
    """Return the command that serves a model, loaded as the vLLM engine would load it, under its name in the config."""
    base = settings["model"] if settings["lora"] is None else f"{settings['model']}-base"
    arguments = {
        "model": settings["weights"],
        "revision": None if settings["local"] else settings["revision"],
        "served_model_name": base,
        "host": host,
        "port": port,
        "max_logprobs": TOP_K,
        "logprobs_mode": "raw_logprobs",
        # Else the server mixes the sampling parameters of the model's authors (top_k, top_p) into every request.
        "generation_config": "vllm",
        "seed": settings["seed"],
        **(
            {}
            if settings["lora"] is None
            else {"enable_lora": True, "lora_modules": [f"{settings['model']}={settings['lora']}"]}
        ),
        **cpu.engine_arguments(settings),
    }
    # The command `vllm` looks for a distribution of that name, which CPU builds do not have.
    server = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    return [*server, *(word for name, value in arguments.items() for word in flag(name, value))]


def server_environment(settings: ServedSettings, threads: int) -> dict[str, str]:
    """What is set for the server beside the environment that it is started in."""
    # Where gpt-oss's prompt gets its date from on a server.
    pinned = {"VLLM_SYSTEM_START_DATE": settings["template_date"]} if settings["template_date"] else {}
    return pinned | cpu.environment(settings, threads)


def flag(name: str, value: Any) -> list[str]:
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
def running_server(settings: ServedSettings, threads: int) -> Iterator[str]:
    """Serve a model on this machine, on GPUs that no engine has, while the block runs; gives the base URL.

    What the server says goes where this process's output goes. It ends with the block, and with this process however
    that ends. Raises EntropySentinelError where the server ends before it is up, such as for an argument it refuses.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begin = time.monotonic()
    claim = claim_devices(Run.announced(), settings, threads)
    server = subprocess.Popen(
        [*server_command(settings, "127.0.0.1", port), "--disable-uvicorn-access-log"],
        env=os.environ | server_environment(settings, threads) | claim.environment,
        stdin=subprocess.DEVNULL,
        # A group of its own: Ctrl-C reaches this process alone, which then ends the server and all it has started.
        start_new_session=True,
        preexec_fn=_end_with_parent,
    )
    try:
        while not _is_up(port):
            if server.poll() is not None:
                raise EntropySentinelError(
                    f"models.{settings['model']}: the vLLM server ended before it was up, with exit status "
                    f"{server.returncode}; what it said stands above in this log"
                )
            time.sleep(POLL_S)
        log.info("the server of %s is up after %.0f s", settings["model"], time.monotonic() - begin)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        _stop(server)
        claim.release()


def _is_up(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End the server and the processes of its group: asked first, and then killed."""
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(timeout=STOP_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _end_with_parent() -> None:
    """Let the kernel ask this process to end when its parent has died, even if killed outright. Linux alone can."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
