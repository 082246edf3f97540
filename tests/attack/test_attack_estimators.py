"""Files of estimators that would run code, hang their reader or fill its memory: refused in a line, soon."""

import io
import json
import pickle
import time
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from calling import run
from forged import Json, field, forge, parts, signed
from rows import SETTINGS, rows
from tiny import TINY

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.estimators.estimator_file import load_estimator, save_estimator
from entropy_sentinel.estimators.fit_metadata import FitMetadata, LogprobsKind
from entropy_sentinel.estimators.training_rows import TrainingRows

pytestmark = pytest.mark.slow

TRAINING = TrainingRows(*rows(), SETTINGS)


@pytest.fixture
def good(tmp_path: Path) -> Callable[[str], Path]:
    """The file of a fitted estimator, by its name."""

    def make(name: str) -> Path:
        logprobs = LogprobsKind(logprobs_mode="raw_logprobs", top_k_returned=20)
        save_estimator(TRAINING.fit(name), tmp_path / name, FitMetadata(name=name, logprobs=logprobs, model="tiny"))
        return tmp_path / name

    return make


class Touch:
    """An object whose pickle makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_a_pickle_among_the_arrays_is_not_loaded(good: Callable[[str], Path], tmp_path: Path) -> None:
    mark, packed = tmp_path / "mark", io.BytesIO()
    np.savez(packed, **{"0": np.array([Touch(mark)], dtype=object)})
    np.load(io.BytesIO(packed.getvalue()), allow_pickle=True)["0"]
    assert mark.exists()  # where pickles are trusted, it runs
    mark.unlink()
    evil = forge(good("atc-max"), tmp_path / "evil", field("threshold", {"array": "0"}), packed.getvalue())
    with pytest.raises(InputError, match=r"evil: contains an array that is not numeric"):
        load_estimator(evil)
    header, _ = parts(evil.read_bytes())
    evil.write_bytes(signed(header, pickle.dumps(Touch(mark))))
    with pytest.raises(InputError, match=r"evil: cannot be read"):
        load_estimator(evil)
    assert not mark.exists()


@pytest.mark.parametrize(
    "kind", ["os.system", "system", "eval", "Path", "Scaling", "Estimator", "ABC", "object", "__import__"]
)
def test_no_class_is_looked_up_by_its_name(kind: str, good: Callable[[str], Path], tmp_path: Path) -> None:
    """Only those are known that the estimator's own family declares."""
    path = good("atc-max")
    for edit in (field("confidence", {kind: {"command": "touch mark"}}), lambda tree: {kind: tree["Atc"]}):
        forge(path, tmp_path / "evil", edit)
        with pytest.raises(InputError, match=rf"evil: contains a {kind}"):
            load_estimator(tmp_path / "evil")


def test_a_command_says_so_in_a_line(
    good: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = forge(good("atc-max"), tmp_path / "evil", field("confidence", {"system": {"command": "true"}}))
    status, _, message = run(capsys, "estimate", evil, TINY.log)
    assert (status, message.count("\n"), message.startswith(f"InputError: {evil}: contains a system, ")) == (1, 1, True)


def within_itself(parameters: Json) -> Json:
    """A choice whose method is a choice, and so on: each asked for what the one below it cannot give."""
    inner = parameters["Recommended"]["method"]
    for _ in range(30):
        ranker = parameters["Recommended"]["ranker"] if len(json.dumps(inner)) > 3_000 else inner
        inner = {"Recommended": {"name": "recommended", "method": inner, "ranker": ranker, "why": {"dict": {}}}}
    return inner


def nested(depth: int) -> Json:
    node: Json = 0
    for _ in range(depth):
        node = [node]
    return node


SMALL: dict[str, tuple[str, Callable[[Json], Json], str]] = {
    "a choice within itself": ("recommended", within_itself, "contains the estimator 'recommended' instead of atc-"),
    "900 lists in one another": ("atc-max", field("threshold", nested(900)), "cannot (be read|estimate)"),
    "a thousand fields": ("atc-max", field("threshold", [0] * 1_000), "cannot estimate"),
}


@pytest.mark.parametrize("case", SMALL)
def test_some_kilobytes_are_refused_in_under_a_second(case: str, good: Callable[[str], Path], tmp_path: Path) -> None:
    name, edit, message = SMALL[case]
    evil = forge(good(name), tmp_path / "evil", edit)
    start = time.perf_counter()
    with pytest.raises(InputError, match=f"evil: .*{message}"):
        load_estimator(evil)
    assert time.perf_counter() - start < 1


def packed(content: bytes, times: int = 1, method: int = zipfile.ZIP_STORED) -> bytes:
    """An .npz file with the bytes of one array under several names."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for number in range(times):
            archive.writestr(f"{number}.npy", content)
    return file.getvalue()


def overlapping(content: bytes, times: int) -> bytes:
    """An .npz file with the bytes of one array that stand there once, under several names.

    What stands before them are the headers of all, each of which takes the headers after it for its extra field.
    """
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        names = [f"{number:04d}.npy" for number in range(times)]
        size = zipfile.sizeFileHeader + len(names[0])
        for place, name in enumerate(names):
            entry = zipfile.ZipInfo(name)
            entry.CRC, entry.header_offset = zlib.crc32(content), place * size
            entry.file_size = entry.compress_size = len(content)
            archive.filelist.append(entry)
            header = bytearray(entry.FileHeader(zip64=False))
            header[28:30] = ((times - 1 - place) * size).to_bytes(2, "little")
            file.write(header)
        file.write(content)
        archive.start_dir, archive._didModify = file.tell(), True
    return file.getvalue()


def array(values: np.ndarray, shape: str | None = None) -> bytes:
    """The bytes of an .npy file, which may say another shape."""
    file = io.BytesIO()
    np.save(file, values)
    own = f"'shape': {values.shape}".encode()
    return file.getvalue() if shape is None else file.getvalue().replace(own, f"'shape': {shape}".encode())


def header_of(text: str) -> Callable[[Path], bytes]:
    """A file whose header has a text in the place of a field's value."""

    def make(good: Path) -> bytes:
        header, arrays = parts(good.read_bytes())
        return signed(header.replace(b'"threshold": ', b'"threshold": ' + text.encode() + b', "_": '), arrays)

    return make


def arrays_of(content: bytes) -> Callable[[Path], bytes]:
    return lambda good: signed(parts(good.read_bytes())[0], content)


LARGE: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "a million lists": (header_of(f"[{'[],' * 350_000}0]"), "cannot (be read|estimate)"),
    "a million dicts": (header_of(f"[{'{},' * 350_000}0]"), "cannot be read"),
    "lists in one another": (header_of("[" * 500_000 + "]" * 500_000), "the header must be a JSON object"),
    "a header without end": (header_of(f'"{" " * (5 << 20)}"'), "the header must have at most 4,194,304 bytes"),
    "zeros that unpack": (
        arrays_of(packed(bytes(500 << 20), method=zipfile.ZIP_DEFLATED)),
        "compressed arrays",
    ),
    "an array that is there often": (
        arrays_of(overlapping(array(np.zeros(120_000)), 1_500)),
        "arrays larger than the file",
    ),
    "a shape without end": (
        arrays_of(packed(array(np.zeros(9), "(99999999999,)"))),
        "an array .*wrong length",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("case", LARGE)
@pytest.mark.filterwarnings("ignore")
def test_a_megabyte_takes_no_gigabytes(case: str, good: Callable[[str], Path], tmp_path: Path) -> None:
    make, message = LARGE[case]
    (tmp_path / "evil").write_bytes(make(good("atc-max")))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=f"evil: .*{message}"):
            load_estimator(tmp_path / "evil")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200 << 20
