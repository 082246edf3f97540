"""Connections between the processes of one run of one user.

Messages are pickled, and unpickling can run code. So both sides check, before they read a message, that the kernel
states this process's user for the other side, and that it knows the run's secret, which only the environment of the
run's processes contains. The library's challenges (multiprocessing.connection) prove it without sending it.
"""

import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from pathlib import Path

from entropy_sentinel.core.errors import EntropySentinelError

# Longest silence of the other side while both prove that they know the secret, in seconds.
HANDSHAKE_S = 30.0
# The kernel's answer about the other side: process, user, group.
_CREDENTIALS = struct.Struct("3i")


class ForeignProcessError(EntropySentinelError):
    """The process behind a socket is not one of this user's run."""


def open_connection(
    path: Path, secret: str, wait: Callable[[Connection, int], None] = lambda *_: None
) -> tuple[Connection, int]:
    """A connection to the process behind a socket, and the id of the process; `wait` waits for its first message.

    Raises OSError or EOFError if it has ended, and ForeignProcessError if it is of another user or another run.
    """
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        pid = _check_peer(client)
        connection = Connection(os.dup(client.fileno()))
        try:
            wait(connection, pid)
            with limit_silence(connection, HANDSHAKE_S):
                answer_challenge(connection, secret.encode())
                deliver_challenge(connection, secret.encode())
        except (AuthenticationError, AssertionError):  # the latter for what is no challenge
            connection.close()
            raise ForeignProcessError(f"{path}: the process behind it must be of this run; delete its folder") from None
        except BaseException:
            connection.close()
            raise
        return connection, pid


def accept_connection(client: socket.socket, secret: str) -> Connection:
    """The connection of a process that has connected. Raises OSError, EOFError or ForeignProcessError."""
    with client:
        client.setblocking(True)
        _check_peer(client)
        connection = Connection(os.dup(client.fileno()))
        try:
            with limit_silence(connection, HANDSHAKE_S):
                deliver_challenge(connection, secret.encode())
                answer_challenge(connection, secret.encode())
        except (AuthenticationError, AssertionError):
            connection.close()
            raise ForeignProcessError("a process that is not of this run asked") from None
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def limit_silence(connection: Connection, seconds: float) -> Iterator[socket.socket]:
    """Let reading and writing fail with OSError after so much silence, during the block; yield the connection's socket.

    A time-out of Python's sockets would also unblock the descriptor, which `Connection` must wait for.
    """
    with socket.socket(fileno=os.dup(connection.fileno())) as channel:
        _set_timeouts(channel, seconds)
        yield channel
        _set_timeouts(channel, 0)


def _check_peer(connection: socket.socket) -> int:
    """The id of the process on the other side; raises ForeignProcessError if another user started it."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(credentials)
    if user != os.getuid():
        raise ForeignProcessError(f"process {pid} must be of user {os.getuid()}, is of user {user}")
    return int(pid)


def _set_timeouts(connection: socket.socket, seconds: float) -> None:
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(seconds), 0))
