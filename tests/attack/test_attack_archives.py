"""Logs of inspect_ai whose archive, header or samples are not as they should be: read, counted, or refused by name."""

import copy
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from attack_cases import ROOT, attack
from mutations import ODD, mutated, mutated_bytes, places

import entropy_sentinel as es

pytestmark = pytest.mark.slow

LOG = ROOT / "tests" / "logs" / "samples" / "numbers.json"
SEEDS = 60
MAY_BE_REFUSED = {"either": r"log\.(eval|json)"}


def parts() -> tuple[dict[str, Any], list[Any]]:
    """The header of a log and its samples."""
    log = json.loads(LOG.read_text())
    return log, log.pop("samples")


def packed(path: Path, header: Any, samples: list[Any]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for number, sample in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(sample))
    return path


def n_read(path: Path) -> int:
    return sum(map(len, es.open_logs(path, scorer="exact")))


def with_odd(header: dict[str, Any], path: tuple[Any, ...], odd: Any) -> Any:
    changed = copy.deepcopy(header)
    place = changed
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = odd
    return changed


HEADER = {name: value for name, value in parts()[0].items() if name in ("eval", "plan")}
READ = [
    path
    for path in places(HEADER)
    if path in ((), ("eval",), ("plan",)) or path[-1] in ("model_generate_config", "config", "task", "model", "seed")
]


@pytest.mark.parametrize("path", READ, ids=lambda path: ".".join(map(str, path)) or "the whole")
def test_headers(path: tuple[Any, ...], tmp_path: Path) -> None:
    header, samples = parts()
    for odd in ODD:
        log = packed(tmp_path / "log.eval", with_odd(header, path, odd) if path else odd, samples[:2])
        attack(MAY_BE_REFUSED, lambda log=log: n_read(log))


@pytest.mark.parametrize("form", ["eval", "json"])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_mutated(seed: int, form: str, tmp_path: Path) -> None:
    header, samples = parts()
    header, samples = mutated(header, seed), [mutated(samples[0], seed), *samples[1:3]]
    log = tmp_path / f"log.{form}"
    if form == "eval":
        packed(log, header, samples)
    else:
        log.write_text(json.dumps({**header, "samples": samples}))
    attack(MAY_BE_REFUSED, lambda: n_read(log))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_mutated_bytes(seed: int, tmp_path: Path) -> None:
    header, samples = parts()
    content = packed(tmp_path / "log.eval", header, samples[:3]).read_bytes()
    (tmp_path / "log.eval").write_bytes(mutated_bytes(content, seed))
    attack(MAY_BE_REFUSED, lambda: n_read(tmp_path / "log.eval"))
