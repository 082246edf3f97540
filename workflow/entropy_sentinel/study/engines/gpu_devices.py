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
from entropy_sentinel.study.engines.generation_section import PARALLEL_SIZES, count_gpus

# The GPUs to choose from, as set by the user or Slurm; CUDA reads this variable too. `DEVICES_VARIABLE`
# names a machine's GPUs in place of `nvidia-smi`.
VISIBLE_VARIABLE, DEVICES_VARIABLE = "CUDA_VISIBLE_DEVICES", "ENTROPY_SENTINEL_DEVICES"
_MEMORY = re.compile(r"^(GPU-\S+), (\d+), (\d+)$", re.MULTILINE)
_UUID = re.compile(r"\(UUID: ((?:GPU|MIG)-[^)]+)\)")


@dataclass(frozen=True)
class DeviceClaim:
    """Devices that this process owns until `release`, or until it ends; none on a CPU."""

    devices: tuple[str, ...] = ()
    locks: tuple[socket.socket, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """The variable that restricts CUDA to these devices."""
        return {VISIBLE_VARIABLE: ",".join(self.devices)} if self.devices else {}

    def release(self) -> None:
        """Release the devices, unless a process that inherited the locks still runs."""
        for lock in self.locks:
            lock.close()


def count_needed_gpus(settings: ServedSettings) -> int:
    """The number of GPUs that the engine of these settings needs."""
    return count_gpus(settings["engine_args"])


def list_visible_devices(environment: Mapping[str, str]) -> list[str] | None:
    """The UUIDs of the GPUs that an engine in this environment may use; None without GPUs."""
    if is_cpu_build() and DEVICES_VARIABLE not in environment:
        return None
    gpus = _list_gpus(environment.get(DEVICES_VARIABLE))
    selection = environment.get(VISIBLE_VARIABLE)
    if selection is None:
        return _flatten_devices(gpus) or None
    return [_find_uuid(name.strip(), gpus) for name in selection.split(",") if name] or None


def list_usable_devices(settings: ServedSettings) -> list[str] | None:
    """The GPUs that the engine of these settings may use; see `list_visible_devices`.

    Raises ConfigError if there are fewer than it needs.
    """
    devices = list_visible_devices(os.environ | settings["environment"])
    if devices is not None and len(devices) < count_needed_gpus(settings):
        raise ConfigError(
            f"models.{settings['model']}: must have {count_needed_gpus(settings)} GPUs ({', '.join(PARALLEL_SIZES)}), "
            f"there are {len(devices)} ({', '.join(devices)}); set smaller sizes in "
            "engine_args, or make more GPUs visible"
        )
    return devices


def try_claim(count: int, devices: Sequence[str]) -> DeviceClaim | None:
    """A claim to `count` of the devices; None if fewer are free."""
    lock_by_device: dict[str, socket.socket] = {}
    for device, lock in _lock_each_free(devices):
        lock_by_device[device] = lock
        if len(lock_by_device) == count:
            return DeviceClaim(tuple(lock_by_device), tuple(lock_by_device.values()))
    # Too few are free: those that were locked are given back.
    DeviceClaim(tuple(lock_by_device), tuple(lock_by_device.values())).release()
    return None


def _lock_each_free(devices: Sequence[str]) -> Iterator[tuple[str, socket.socket]]:
    """Lock the devices that no engine owns, one at a time, and yield each with its lock."""
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


def _list_gpus(devices: str | None) -> tuple[tuple[str, ...], ...]:
    """Each GPU with its MIG devices, as UUIDs, in the order of their numbers; empty without NVIDIA's driver."""
    return tuple((device,) for device in devices.split(",")) if devices else _list_installed_gpus()


@cache
def _list_installed_gpus() -> tuple[tuple[str, ...], ...]:
    """Each GPU of this machine with its MIG devices, as UUIDs; empty without NVIDIA's driver."""
    if not shutil.which("nvidia-smi"):
        return ()
    listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout
    return parse_listing(listing)


def describe_free_memory(environment: Mapping[str, str]) -> str:
    """How much memory of the GPUs of an engine in this environment is free; empty if nvidia-smi does not say."""
    query = ["nvidia-smi", "--query-gpu=uuid,memory.free,memory.total", "--format=csv,noheader,nounits"]
    try:
        table = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
    visible_devices = environment.get(VISIBLE_VARIABLE, "").split(",")
    parts = []
    for uuid, free, total in _MEMORY.findall(table):  # memory in MiB
        if uuid in visible_devices:
            parts.append(f"{uuid} has {int(free) / 1024:.1f} of {int(total) / 1024:.1f} GiB of memory free")
    return ", ".join(parts)


def parse_listing(listing: str) -> tuple[tuple[str, ...], ...]:
    """The GPUs in the output of `nvidia-smi -L`: the UUID of each, then those of its MIG devices."""
    gpus: list[tuple[str, ...]] = []
    for uuid in _UUID.findall(listing):
        if uuid.startswith("MIG") and gpus:
            gpus[-1] += (uuid,)
        else:
            gpus.append((uuid,))
    return tuple(gpus)


def _flatten_devices(gpus: Sequence[tuple[str, ...]]) -> list[str]:
    """The devices that an engine can use: a GPU, or its MIG devices if it is divided."""
    devices: list[str] = []
    for gpu, *mig_devices in gpus:
        devices += mig_devices or [gpu]
    return devices


def _find_uuid(name: str, gpus: Sequence[tuple[str, ...]]) -> str:
    """The UUID of a device, given its number or the beginning of its UUID; an unknown name is unchanged."""
    if name.isdecimal() and int(name) < len(gpus):
        return gpus[int(name)][0]
    return next((device for device in chain.from_iterable(gpus) if device.startswith(name)), name)
