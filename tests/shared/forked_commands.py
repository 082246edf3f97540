"""Commands as forks of a process that has imported the libraries: most of a command's CPU time is their import.

`fork_server` starts that process. `write_client` writes a program, such as `entropy-sentinel`, that a shell finds on
its PATH: it hands its arguments, folder, environment and standard streams over, and ends with the command's status. The
package itself is imported by each command. What the start of an interpreter decides (encodings of the terminal, a
signal at the wrong moment) needs a real process.
"""

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

_LIBRARIES = ("polars", "pyarrow.parquet", "pydantic", "typer", "typer.rich_utils", "rich.table", "yaml", "orjson")
_LIBRARIES += ("scipy.stats", "scipy.optimize", "sklearn.linear_model", "sklearn.isotonic", "sklearn.ensemble")
_LIBRARIES += ("sklearn.pipeline", "sklearn.preprocessing", "sklearn.calibration", "sklearn.model_selection", "jinja2")
_LIBRARIES += ("prometheus_client", "latex2mathml.converter", "concurrent.futures", "sqlite3", "doctest")
_CLIENT = """#!{python} -SE
import json, os, socket, sys
call = {{"arguments": [*{first}, *sys.argv[1:]], "folder": os.getcwd(), "env": dict(os.environ)}}
with socket.socket(socket.AF_UNIX) as server:
    server.connect("{address}")
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(json.dumps(call).encode())
    server.shutdown(socket.SHUT_WR)
    sys.exit(int(server.recv(8) or 255))
"""


@contextmanager
def fork_server(python: Path, env: Mapping[str, str]) -> Iterator[str]:
    """Run the process that is forked, by an interpreter, with an environment; its address."""
    with TemporaryDirectory(prefix="forks-") as folder:
        address = str(Path(folder) / "socket")
        command = [str(python), str(Path(__file__).resolve()), address]
        server = subprocess.Popen(command, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout.readline() == "ready\n"
            yield address
        finally:
            server.kill()
            server.wait()
            server.stdout.close()


def write_client(path: Path, address: str, *first: str) -> None:
    """Write a program that runs `python FIRST... ARGUMENTS` in a fork of the server at `address`."""
    path.unlink(missing_ok=True)
    path.write_text(_CLIENT.format(python=sys.executable, first=list(first), address=address))
    path.chmod(0o755)


def put_on_path(folder: Path, address: str) -> str:
    """Write the clients `entropy-sentinel` and `python` to a folder; a PATH on which they are the first."""
    folder.mkdir(exist_ok=True)
    write_client(folder / "entropy-sentinel", address, "-m", "entropy_sentinel")
    write_client(folder / "python", address)
    return f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"


def _serve(address: str) -> None:
    """Fork for each call: a process that waits for the command and reports its status, and the command itself."""
    for library in _LIBRARIES:
        import_module(library)
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [place for place in sys.path[1:] if place not in inherited]
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen(32)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    print("ready", flush=True)
    while True:
        client, _ = server.accept()
        if os.fork() == 0:
            break
        client.close()
    server.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(client, 1, 3)
    call = json.loads(client.makefile("rb").read())
    if pid := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        client.sendall(str(status if status >= 0 else 128 - status).encode())
        os._exit(0)
    client.close()
    _run(call["arguments"], call["folder"], call["env"], streams)


def _run(arguments: list[str], folder: str, env: dict[str, str], streams: list[int]) -> None:
    """Become `python ARGUMENTS`, as far as a program can see."""
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
        os.close(stream)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.stdin, sys.stdout = open(0, encoding="utf-8"), open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    path = [place for place in env.get("PYTHONPATH", "").split(os.pathsep) if place]
    what, *others = arguments
    sys.orig_argv[:] = [sys.executable, *arguments]
    del sys.modules["__main__"]
    if what == "-m":
        module, *sys.argv[1:] = others
        sys.path[:0] = ["", *path]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        sys.path[:0] = [str(Path(what).parent), *path]
        runpy.run_path(what, run_name="__main__")


if __name__ == "__main__":
    _serve(sys.argv[1])
