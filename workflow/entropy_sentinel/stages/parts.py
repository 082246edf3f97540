"""Partial results of a long job: a folder beside its output, from which a killed job goes on."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.frames.contract import Contract
from entropy_sentinel.frames.files import whole_file

_IDENTITY, _NOTES = "identity.json", "notes.json"


class Parts:
    """Rows of one contract, in Parquet files that appear whole or not at all."""

    def __init__(self, folder: Path, contract: Contract, identity: str) -> None:
        """Open the parts in `folder`; those of another identity (other settings, other items) are thrown away.

        `run` counts the jobs that have left rows here before: 0 for the first.
        """
        self.folder, self.contract = folder, contract
        if self._load(_IDENTITY).get("identity") != identity:
            self.remove()
            self._save(_IDENTITY, {"identity": identity})
        self.run = len({path.name.split("-")[1] for path in self._files()})

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """All rows so far, all columns or some; of rows with the same key the first."""
        names = list(columns or self.contract.schema)
        frames = [self.contract.read(path, names) for path in self._files()]
        empty = self.contract.schema.to_frame().select(names)
        return pl.concat([empty, *frames]).unique(list(self.contract.key), keep="first", maintain_order=True)

    def append(self, frame: pl.DataFrame) -> None:
        """Add the rows of `frame` as one file; the process id keeps a job that outlived its Snakemake apart."""
        number = len(self._files())
        self.contract.write(frame, self.folder / f"part-{self.run:03d}-{number:06d}-{os.getpid()}.parquet", {})

    def note(self, facts: Mapping[str, str]) -> None:
        """Keep facts about this run, such as which engine answers; those of earlier runs stay."""
        earlier = self._load(_NOTES)
        self._save(_NOTES, {name: list(dict.fromkeys([*earlier.get(name, []), fact])) for name, fact in facts.items()})

    def notes(self) -> dict[str, str]:
        """The facts of all runs; where they differ (an engine was updated in between) joined with a slash."""
        return {name: " / ".join(facts) for name, facts in self._load(_NOTES).items()}

    def remove(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _load(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        return json.loads(path.read_text()) if path.exists() else {}

    def _save(self, name: str, content: Mapping[str, Any]) -> None:
        with whole_file(self.folder / name) as partial:
            partial.write_text(json.dumps(dict(content)))
