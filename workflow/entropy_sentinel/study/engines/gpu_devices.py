"""The GPUs of this machine, and which of them an engine owns.

An engine owns its GPUs by locks that the kernel keeps for the whole machine: engines of other runs and users respect
them, and they are released when the engine's process ends, however it ends. A lock is a Unix socket bound in Linux's
abstract namespace, which needs no file that several users can write. Containers with a network of their own do not see
the locks of others.
"""

import errno
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.llm_client.server_settings import ServedSettings
from entropy_sentinel.study.engines.cpu_settings import is_cpu_build
from entropy_sentinel.study.engines.generation_section import PARALLEL_SIZES, gpus

# The GPUs to choose from, as set by the user or Slurm; CUDA reads this variable too. `LISTED` names a machine's GPUs in
# place of `nvidia-smi`.
VISIBLE, LISTED = "CUDA_VISIBLE_DEVICES", "ENTROPY_SENTINEL_DEVICES"
_UUID = re.compile(r"\(UUID: ((?:GPU|MIG)-[^)]+)\)")


@dataclass(frozen=True)
class DeviceClaim:
    """Devices that this process owns until `release`, or until it ends; none on a CPU."""

    devices: tuple[str, ...] = ()
    locks: tuple[socket.socket, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """The variable that restricts CUDA to these devices."""
        return {VISIBLE: ",".join(self.devices)} if self.devices else {}

    def release(self) -> None:
        """Release the devices, unless a process that inherited the locks still runs."""
        for lock in self.locks:
            lock.close()


def needed(settings: ServedSettings) -> int:
    """The number of GPUs that the engine of these settings needs."""
    return gpus(settings["engine_args"])


def visible(environment: Mapping[str, str]) -> list[str] | None:
    """The UUIDs of the GPUs that an engine in this environment may use; None without GPUs."""
    if is_cpu_build() and LISTED not in environment:
        return None
    known, chosen = _known(environment.get(LISTED)), environment.get(VISIBLE)
    if chosen is None:
        return _usable(known) or None
    return [_uuid(name.strip(), known) for name in chosen.split(",") if name] or None


def usable(settings: ServedSettings) -> list[str] | None:
    """The GPUs that the engine of these settings may use; see `visible`.

    Raises ConfigError if there are fewer than it needs.
    """
    devices = visible(os.environ | settings["environment"])
    if devices is not None and len(devices) < needed(settings):
        raise ConfigError(
            f"models.{settings['model']}: must have {needed(settings)} GPUs ({', '.join(PARALLEL_SIZES)}), there are "
            f"{len(devices)} ({', '.join(devices)}); set smaller sizes in "
            "engine_args, or make more GPUs visible"
        )
    return devices


def claim(count: int, devices: Sequence[str]) -> DeviceClaim | None:
    """A claim to `count` of the devices; None if fewer are free."""
    owned: dict[str, socket.socket] = {}
    for device, lock in _free(devices):
        owned[device] = lock
        if len(owned) == count:
            return DeviceClaim(tuple(owned), tuple(owned.values()))
    DeviceClaim(tuple(owned), tuple(owned.values())).release()
    return None


def _free(devices: Sequence[str]) -> Iterator[tuple[str, socket.socket]]:
    for device in devices:
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(f"\0entropy-sentinel {device}")
        except OSError as error:
            lock.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            yield device, lock


def _known(listed: str | None) -> tuple[tuple[str, ...], ...]:
    """Each GPU with its MIG devices, as UUIDs, in the order of their numbers; empty without NVIDIA's driver."""
    return tuple((device,) for device in listed.split(",")) if listed else _installed()


@cache
def _installed() -> tuple[tuple[str, ...], ...]:
    if not shutil.which("nvidia-smi"):
        return ()
    shown = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    return read_listing(shown)


def read_listing(shown: str) -> tuple[tuple[str, ...], ...]:
    """The GPUs in the output of `nvidia-smi -L`: the UUID of each, then those of its MIG devices."""
    gpus: list[tuple[str, ...]] = []
    for uuid in _UUID.findall(shown):
        if uuid.startswith("MIG") and gpus:
            gpus[-1] += (uuid,)
        else:
            gpus.append((uuid,))
    return tuple(gpus)


def _usable(known: Sequence[tuple[str, ...]]) -> list[str]:
    """The devices that an engine can use: a GPU, or its MIG devices if it is divided."""
    devices: list[str] = []
    for gpu, *parts in known:
        devices += parts or [gpu]
    return devices


def _uuid(name: str, known: Sequence[tuple[str, ...]]) -> str:
    """The UUID of a device, given its number or the beginning of its UUID; an unknown name is unchanged."""
    if name.isdecimal() and int(name) < len(known):
        return known[int(name)][0]
    return next((device for device in chain.from_iterable(known) if device.startswith(name)), name)
