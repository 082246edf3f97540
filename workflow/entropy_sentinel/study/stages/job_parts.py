"""Partial results of a long job, in a folder beside its output; the next job continues from them.

No answer is lost if the job or Snakemake is killed, or if Snakemake deletes an output that it did not see finished. So
the folder outlives the job: it is deleted when Snakemake has accepted the output.
"""

import logging
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ContractError
from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.schemas.contract import Contract, read_provenance
from entropy_sentinel.study.jobs.folder_ownership import Ownership
from entropy_sentinel.study.jobs.job_outputs import FINISHED_FILE, link_output
from entropy_sentinel.study.jobs.result_reuse import REUSE_KEY

log = logging.getLogger(__name__)

# Errors from reading a damaged file, including Polars' own assertions.
_UNREADABLE = (ContractError, pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError)


class Parts:
    """Rows of one contract, in Parquet files that appear whole or not at all.

    Parts of an earlier job are kept if their `identity`, a hash of settings and items, is this job's. A finished output
    is also kept if its `key` for reuse (jobs/result_reuse.py) is, as after weights have moved to another folder. `run`
    is the number of this attempt, from 0. A file that cannot be read counts as absent.
    """

    def __init__(self, folder: Path, contract: Contract, identity: str, key: str = "") -> None:
        self.folder, self.contract, self.identity, self._key = folder, contract, identity, key
        self.run = 0
        self._ownership = Ownership(folder)

    def __enter__(self) -> "Parts":
        """Wait until no other process works here; then delete files with another identity.

        `run` counts the jobs that have left rows here before: 0 for the first.
        """
        self._ownership.__enter__()
        for path in [*self._files(), self.folder / FINISHED_FILE]:
            if path.exists() and not self._matches(path):
                _delete_path(path)
        earlier_runs = [int(path.name.split("-")[1]) for path in self._files()]
        self.run = max(earlier_runs) + 1 if earlier_runs else 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ownership.__exit__(kind, error, trace)

    def read(self) -> pl.DataFrame:
        """All rows so far; of rows with the same key, the first."""
        frames = [self.contract.schema.to_frame()]
        for path in self._files():
            frame = self._load(path)
            if frame is not None:
                frames.append(frame)
        return pl.concat(frames).unique(list(self.contract.key), keep="first", maintain_order=True)

    def append(self, frame: pl.DataFrame, facts: Mapping[str, str]) -> None:
        """Add the rows of `frame` as one file, with facts about this run, such as its engine."""
        name = f"part-{self.run:03d}-{len(self._files()):06d}-{uuid.uuid4().hex[:8]}.parquet"
        self.contract.write(frame, self.folder / name, {"identity": self.identity, "facts": dict(facts)})

    def facts(self) -> dict[str, str]:
        """The facts of all parts; different values, as after an engine's update, are joined with a slash."""
        facts_by_name: dict[str, dict[str, None]] = {}  # sets in order
        for path in self._files():
            for name, fact in self._metadata(path).get("facts", {}).items():
                facts_by_name.setdefault(name, {})[fact] = None
        return {name: " / ".join(facts) for name, facts in facts_by_name.items()}

    def replace_by_link(self, output: str) -> None:
        """Replace the parts by a hard link to the finished output, which takes no space."""
        if link_output(output, self.folder):
            self.delete()

    def restore(self, output: str) -> bool:
        """Restore the output of an earlier job that finished; return False if there is none."""
        path = self.folder / FINISHED_FILE
        if not path.exists() or self._load(path) is None:
            return False
        with whole_file(output) as partial:
            partial.unlink()
            os.link(path, partial)
        os.utime(output)  # Snakemake requires it to be newer than the inputs
        return True

    def delete(self) -> None:
        """Delete the parts."""
        for path in self._files():
            _delete_path(path)

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("part-[0-9][0-9][0-9]-*.parquet"))

    def _load(self, path: Path) -> pl.DataFrame | None:
        """The rows of a file; None for an unreadable file, which is moved aside."""
        try:
            return self.contract.check(self.contract.read(path), str(path))
        except _UNREADABLE as error:
            log.warning("%s cannot be read, and counts as absent: %s", path, error)
            path.replace(path.with_name(f"damaged-{path.name}"))
            return None

    def _matches(self, path: Path) -> bool:
        """Whether a file has this job's identity, or its key for reuse."""
        metadata = self._metadata(path)
        has_key = bool(self._key) and metadata.get(REUSE_KEY) == self._key
        return metadata.get("identity") == self.identity or has_key

    def _metadata(self, path: Path) -> dict[str, Any]:
        """The provenance of a part or a finished output; empty if it cannot be read."""
        try:
            return read_provenance(path)
        except _UNREADABLE as error:
            log.warning("%s cannot be read, and counts as absent: %s", path, error)
            return {}


def _delete_path(path: Path) -> None:
    """Delete a file, or a folder of this name."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
