"""Servers and other programs that tests start beside the package."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from programs import skip_without

# The environment of envs/programs.txt, which `make test-ci` installs.
PROGRAMS = Path(sys.prefix, "programs", "bin")


def needs_program(name: str) -> pytest.MarkDecorator:
    """Skip a test unless the program is installed."""
    return skip_without((PROGRAMS / name).exists(), name, "make .venv/programs/installed")


def free_port() -> int:
    """Return a port that nothing listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def serving(
    command: list[str], log: Path, healthy: str, *, timeout_s: float = 300, **options: object
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server, in a process group of its own, once the URL `healthy` answers; its output goes to `log`."""
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True, **options)
    try:
        deadline = time.monotonic() + timeout_s
        while not answers(healthy):
            assert server.poll() is None, log.read_text()[-5000:]
            assert time.monotonic() < deadline, log.read_text()[-5000:]
            time.sleep(0.2)
        yield server
    finally:
        stop(server)


def answers(url: str) -> bool:
    try:
        urlopen(url, timeout=5).close()
    except OSError:
        return False
    return True


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the server's process group."""
    for way in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, way)
            server.wait(timeout=30)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


@contextmanager
def object_store(folder: Path, bucket: str) -> Iterator[Any]:
    """Run a server with S3's interface and an empty bucket for clients that read the environment; give boto3's."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "us-east-1"}
    with (
        serving([str(PROGRAMS / "moto_server"), "-p", str(port)], folder / "store.log", f"{url}/moto-api/"),
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in {**keys, "AWS_ENDPOINT_URL": url}.items():
            patch.setenv(name, value)
        import boto3  # of tests with a store alone

        client = boto3.client("s3")
        client.create_bucket(Bucket=bucket)
        yield client
