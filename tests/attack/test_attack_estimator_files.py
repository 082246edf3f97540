"""Files of estimators that were changed: every one is refused by name, or estimates as any other.

A change that nobody meant is seen by the file's SHA-256. Where somebody has written that anew, the header and the
parameters are looked at themselves: seeded mutations of each value.
"""

import io
import json
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attack_cases import LONGEST_MESSAGE, time_limit
from forged import parts, signed
from mutations import mutated, mutated_bytes
from tiny import TINY

import entropy_sentinel as es
from entropy_sentinel.core.errors import EntropySentinelError, InputError

pytestmark = pytest.mark.slow

SEEDS = 80
# One of each family.
NAMES = ("log-3d", "atc-nll_sum", "doc-mtp", "group-accuracy", "baseline-max", "forest-3d-balanced-isotonic")
SMALL = {"trees": 3, "max_depth": [3], "min_samples_split": [2], "hidden_layers": [[2]]}


@cache
def features() -> pl.DataFrame:
    return es.features(es.read_logs(TINY.traces))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The file of each estimator, by its name."""
    folder, labels = tmp_path_factory.mktemp("estimators"), es.read_labels(TINY.labels)
    for name in NAMES:
        es.save(es.fit(features(), labels, name, SMALL), folder / name)
    return {name: (folder / name).read_bytes() for name in NAMES}


def other_header(content: bytes, seed: int) -> bytes:
    header, payload = parts(content)
    try:
        return signed(json.dumps(mutated(json.loads(header), seed)).encode(), payload)
    except ValueError:  # a number of more digits than Python writes
        return signed(b"7", payload)


def other_header_bytes(content: bytes, seed: int) -> bytes:
    header, payload = parts(content)
    return signed(mutated_bytes(header, seed), payload)


def other_payload_bytes(content: bytes, seed: int) -> bytes:
    header, payload = parts(content)
    return signed(header, mutated_bytes(payload, seed))


def other_parameters(content: bytes, seed: int) -> bytes:
    """With one or two odd values among the parameters, or other bytes in an array."""
    header, arrays = parts(content)
    message = json.loads(header)
    message["parameters"] = mutated(message["parameters"], seed)
    try:
        text = json.dumps(message).encode()
    except ValueError:
        text = header
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(arrays)) as before, zipfile.ZipFile(packed, "w") as after:
        for name in before.namelist():
            after.writestr(name, mutated_bytes(before.read(name), seed) if seed % 4 == 0 else before.read(name))
    return signed(text, packed.getvalue())


CHANGES: dict[str, Callable[[bytes, int], bytes]] = {
    "bytes of the file": mutated_bytes,
    "values of the header": other_header,
    "bytes of the header": other_header_bytes,
    "bytes of the parameters": other_payload_bytes,
    "values of the parameters": other_parameters,
}
USES: dict[str, Callable[[Path], Any]] = {
    "load": lambda path: es.load(path),
    "estimate": lambda path: es.estimate(es.load(path), features(), by=["benchmark"]),
    "monitor": lambda path: es.monitor(path, features(), by=["benchmark"]),
    "sample": lambda path: es.sample(path, features(), ["benchmark"], 40),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")  # of arithmetic with numbers that somebody has put there
def test_changed(name: str, change: str, files: dict[str, bytes], tmp_path: Path) -> None:
    path, raw = tmp_path / "mine.estimator", []
    for seed in range(SEEDS // len(NAMES)):
        changed = CHANGES[change](files[name], f"{name} {seed}" if change != "values of the parameters" else seed)
        path.write_bytes(changed)
        for use, act in USES.items():
            message = None
            with time_limit():
                try:
                    act(path)
                except EntropySentinelError as error:
                    message = str(error)
                except Exception as error:
                    raw.append(f"{seed}, {use}: {type(error).__name__}: {error}"[:200])
            assert message is None or len(message) <= LONGEST_MESSAGE
            if change == "bytes of the file" and changed != files[name]:
                assert message is not None, (seed, use)
                assert message.startswith(f"{path}: ")
            if use == "load" and message is not None:
                break
    assert raw == []


HEADERS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "a list": (lambda header: [header], "the header: must be a section with keys, got "),
    "without a name": (lambda header: header | {"name": None}, "the header: name: must be text, got null"),
    "without logprobs": (lambda header: header | {"logprobs": None}, "the header: 'logprobs' must be set"),
    "logprobs of text": (
        lambda header: header | {"logprobs": "raw"},
        "the header: logprobs: must be a section with keys, got 'raw'",
    ),
    "a model of numbers": (lambda header: header | {"model": 7}, "the header: model: must be text, got 7"),
    "no validation": (
        lambda header: header | {"validation": 7},
        "the header: validation: must be a section with keys, got 7",
    ),
    "a support of nothing": (lambda header: header | {"support": {}}, "the header: support.edges: must be set"),
    "a support of one edge": (
        lambda header: header | {"support": header["support"] | {"edges": [1.0]}},
        "the header: support.edges: must have at least 13 items",
    ),
    "a support upside down": (
        lambda header: header | {"support": header["support"] | {"edges": list(range(13, 0, -1))}},
        "the header: support.edges: must be edges, smallest first",
    ),
    "a domain of no responses": (
        lambda header: header | {"support": header["support"] | {"domains": [[0] * 14]}},
        "the header: support.domains.0: must be counts that are not all 0",
    ),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    change, message = HEADERS[name]
    header, payload = parts(files["log-3d"])
    changed = json.dumps(change(json.loads(header))).encode()
    (tmp_path / "mine.estimator").write_bytes(signed(changed, payload))
    with pytest.raises(InputError, match=f"mine.estimator: {message}.*; fit it again"):
        es.load(tmp_path / "mine.estimator")
