"""The GPUs of a machine, by what nvidia-smi and the environment say, and who owns them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from entropy_sentinel.study.engines import gpu_devices
from entropy_sentinel.study.engines.engine_host import EngineHost
from entropy_sentinel.study.engines.gpu_devices import (
    VISIBLE_VARIABLE,
    describe_free_memory,
    list_visible_devices,
    parse_listing,
    try_claim,
)

# As `nvidia-smi -L` shows a divided GPU and a whole one.
LISTING = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f)
  MIG 3g.20gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 1g.5gb      Device  1: (UUID: MIG-7c1f-2)
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-0f)
"""
PARTS = ["MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f", "MIG-7c1f-2"]


def settings(**sizes: int) -> dict[str, object]:
    return {"model": "tiny", "environment": {}, "engine_args": sizes}


def test_what_nvidia_smi_lists() -> None:
    assert parse_listing(LISTING) == (("GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", *PARTS), ("GPU-0f",))
    assert parse_listing("No devices found.") == ()


def test_the_memory_of_an_engines_gpus_is_in_its_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM says no more than that one of its processes failed."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nprintf 'GPU-0e, 80000, 81559\\nGPU-0f, 3072, 81559\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-0f")
    failure = RuntimeError("Engine core initialization failed.")
    error = EngineHost._describe_loading_error(EngineHost.__new__(EngineHost), failure, "large")
    assert str(error).startswith("models.large: vLLM cannot load it: RuntimeError: Engine core initialization failed.")
    assert "GPU-0f has 3.0 of 79.6 GiB of memory free" in str(error)
    assert "GPU-0e" not in str(error)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert describe_free_memory(os.environ) == ""
    program.unlink()
    assert describe_free_memory({"CUDA_VISIBLE_DEVICES": "GPU-0f"}) == ""


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, [*PARTS, "GPU-0f"]),  # a divided GPU is used by its parts
        ("1", ["GPU-0f"]),
        ("MIG-7c1f-2,1", ["MIG-7c1f-2", "GPU-0f"]),
        ("GPU-0", ["GPU-0f"]),  # the beginning of a UUID will do
    ],
)
def test_the_gpus_to_choose_from(chosen: str | None, expected: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_devices, "is_cpu_build", lambda: False)
    monkeypatch.setattr(gpu_devices, "_list_installed_gpus", lambda: parse_listing(LISTING))
    assert list_visible_devices({VISIBLE_VARIABLE: chosen} if chosen else {}) == expected


def test_without_a_driver_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_devices, "is_cpu_build", lambda: False)
    monkeypatch.setattr(gpu_devices, "_list_installed_gpus", lambda: ())
    assert list_visible_devices({}) is None
    assert list_visible_devices({VISIBLE_VARIABLE: "0,1"}) == ["0", "1"]


def test_sizes_of_all_kinds_multiply() -> None:
    assert (
        gpu_devices.count_needed_gpus(settings(tensor_parallel_size=2, pipeline_parallel_size=3, data_parallel_size=2))
        == 12
    )
    assert gpu_devices.count_needed_gpus(settings()) == 1


def test_a_claim_is_for_all_or_nothing_and_ends_with_its_process() -> None:
    names = [f"test-{sys.version_info.micro}-{name}" for name in "abc"]
    first = try_claim(1, names)
    assert first
    assert first.environment == {VISIBLE_VARIABLE: names[0]}
    assert try_claim(3, names) is None
    second = try_claim(2, names)
    assert second
    assert second.devices == (names[1], names[2])
    held = "import sys, socket; s = socket.socket(socket.AF_UNIX); s.bind('\\0entropy-sentinel ' + sys.argv[1]); "
    first.release()
    holder = subprocess.Popen(
        [sys.executable, "-c", held + "print(1, flush=True); input()", names[0]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    assert try_claim(1, names[:1]) is None
    holder.kill()
    holder.communicate()
    again = try_claim(1, names[:1])
    assert again
    again.release()
    second.release()


def test_a_cpu_owns_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_devices, "is_cpu_build", lambda: True)
    assert list_visible_devices({VISIBLE_VARIABLE: "0"}) is None
