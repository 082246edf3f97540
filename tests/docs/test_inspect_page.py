"""The commands of docs/inspect.md, one after the other, with the demo's model behind a server."""

import os
import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.request import urlopen

import pytest
from documented import ROOT, blocks

import entropy_sentinel as es

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(find_spec("inspect_ai") is None, reason="inspect_ai is not installed"),
]


def wait_for(url: str, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 180
    while time.monotonic() < end and server.poll() is None:
        try:
            urlopen(url)
            return
        except OSError:
            time.sleep(0.5)
    raise AssertionError(f"{url} did not answer; the server ended with {server.poll()}")


def test_an_evaluation_becomes_an_estimate(tmp_path: Path) -> None:
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    shutil.copy(ROOT / "config.yaml", tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    serve, *commands = (block.replace("8000", port) for block in blocks(ROOT / "docs" / "inspect.md", "sh"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = {"cwd": tmp_path, "env": os.environ | {"PATH": path, "INSPECT_DISPLAY": "none"}}
    server = subprocess.Popen(["bash", "-c", f"exec {serve}"], **shell)
    try:
        wait_for(f"http://127.0.0.1:{port}/health", server)
        subprocess.run(["bash", "-ec", "\n".join(commands)], check=True, **shell)
    finally:
        server.terminate()
        server.wait()
    labels = es.read_labels(tmp_path / "logs", scorer="pattern")
    counts = dict(labels["benchmark"].value_counts().iter_rows())
    assert counts == {"averages": 40, "percentages": 40, "remainders": 40}
    estimate = es.estimate(tmp_path / "mine.estimator", tmp_path / "unlabelled")
    assert estimate.select("benchmark", "n_estimated").rows() == [("mixed", 30)]
