"""Logs to the sums of a state: what is there is not read again."""

import logging
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from entropy_sentinel.estimators.fit import one_thread
from entropy_sentinel.estimators.saved import SavedEstimator
from entropy_sentinel.frames.errors import InputError, ProvenanceError
from entropy_sentinel.jobs.ownership import Ownership
from entropy_sentinel.monitor.reading.content import content
from entropy_sentinel.monitor.reading.identity import NUMBERS, Others
from entropy_sentinel.monitor.reading.inputs import Inputs, columns_of
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.settings import LOGPROBS, MODEL, Reading
from entropy_sentinel.monitor.summing.scoring import Accumulator, responses, score, support_of
from entropy_sentinel.monitor.summing.state import FileSums, State, is_state, on_disk
from entropy_sentinel.sources.logs.records import STANDARD_INPUT

log = logging.getLogger(__name__)

Source = str | Path | pl.DataFrame

# What is said of responses that stand in the sums of two parts.
_IN_TWO_PARTS = "responses that two parts have: both count; in one run over the files they count once"


class _Changed(Exception):
    """A file has grown while it was read."""


class Collector:
    """Adds files to a state; `read` is what was read in this run, `n_known` how many files were not opened.

    `lasting` says whether the state is to be used again: only then are files told apart by their content. Single
    responses are kept where it is, and where `single` ones are asked for: to put labels to, or to show.
    """

    def __init__(
        self, saved: SavedEstimator, reading: Reading, state: State, lasting: bool, single: bool, strict: bool
    ) -> None:
        self._saved, self._reading, self._state = saved, reading, state
        self._lasting, self._strict, self._keep_responses = lasting, strict, lasting or single
        self._support, self._compare = support_of(saved.about), lasting
        self.read: list[FileSums] = []
        self.n_known, self._took_over = 0, False

    def add(self, sources: Iterable[Source]) -> None:
        """Read what is not known yet. Raises InputError for a file that cannot be read."""
        sources = list(sources)
        # One file alone, and never again: there is nothing that it could be the same as.
        self._compare = self._lasting or len(sources) > 1
        with one_thread():
            for source in sources:
                if isinstance(source, pl.DataFrame):
                    self._read(source, FileSums("features", self._number(), 0))
                elif is_state(source):
                    self._take_over(Path(source))
                elif str(source) == STANDARD_INPUT and self._lasting:
                    self._add_standard_input()
                else:
                    self._add_file(str(source))

    def problems(self) -> Problems:
        """What of the files read now could not be used."""
        found = Problems.total(one.problems for one in self.read)
        if self._took_over and (twice := self._state.n_twice()):
            found.add(_IN_TWO_PARTS, [], twice)
        return found

    def check(self) -> None:
        """Raise where nothing of this run is of use, and forget what it has added.

        ProvenanceError where all responses are of another model or log-probabilities, InputError for a column that no
        response has a value in.
        """
        files = self._state.files.values()
        seen = {name for one in files for name in one.seen}
        if any(one.n_responses for one in files):
            for name in (*self._reading.by, *([self._reading.time] if self._reading.time else [])):
                if name not in seen:
                    self._forget()
                    raise InputError(f"no response has a value in column '{name}'{self._columns_there()}")
        rejected = Problems()
        for one in files:
            rejected.counts.update(one.rejected)
        if rejected.counts and sum(rejected.counts.values()) == sum(one.n_responses for one in files):
            self._forget()
            raise ProvenanceError(self._nothing_fits(rejected))

    def _columns_there(self) -> str:
        path = next((one.path for one in self.read if Path(one.path).is_file()), None)
        return f"; columns there: {', '.join(columns_of(path)) or 'none'}" if path else ""

    def _nothing_fits(self, rejected: Problems) -> str:
        about = self._saved.about
        logprobs = ", ".join(f"{name} {value}" for name, value in about["logprobs"].items())
        remedies = []
        if any(kind.startswith("of model") for kind in rejected.counts):
            remedies.append(f"if they are of '{about.get('model')}' by another name, say --any-{MODEL}")
        if any(kind.startswith("of top_k") for kind in rejected.counts):
            remedies.append("if they have more alternatives to a token, cut them with --top-k")
        if any(kind.startswith("of logprobs") for kind in rejected.counts):
            remedies.append(f"if that is what you want, say --any-{LOGPROBS}")
        return (
            f"no response is of what the estimator was fitted on (model {about.get('model')}, {logprobs}): "
            f"{'; '.join(f'{count:,} {kind}' for kind, count in rejected.counts.most_common(5))}; {'; '.join(remedies)}"
        )

    def _forget(self) -> None:
        for one in self.read:
            self._state.drop(one.key)

    def _number(self) -> str:
        return f"{len(self._state.files):06d}"

    def _add_file(self, path: str) -> None:
        if not self._lasting:
            self._read(path, FileSums(path, self._number(), 0))
        elif self._state.known(path):
            self.n_known += 1
        else:
            look = on_disk(path)
            try:
                self._add_content(path, path, look)
            except _Changed:
                log.warning("%s: grows while it is read; what is there now is read from a copy", path)
                self._add_copy(path)

    def _add_copy(self, path: str) -> None:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / Path(path).name
            shutil.copyfile(path, copy)
            self._add_content(str(copy), path, None)

    def _add_standard_input(self) -> None:
        with TemporaryDirectory() as folder:
            copy = Path(folder) / "standard-input.jsonl"
            with copy.open("wb") as target:
                shutil.copyfileobj(sys.stdin.buffer, target)
            self._add_content(str(copy), "standard input", None)

    def _add_content(self, path: str, name: str, look: list[int] | None) -> None:
        """Read a file unless its content is known; `look` is what it looked like, null where none is to be noted."""
        found = content(path, {one.n_bytes for one in self._state.files.values()})
        if known := self._state.holder(found.key):
            if known.path != name:
                log.info("%s: its content is in %s too, and counts once", name, known.path)
            self.n_known += 1
        else:
            replaces = self._state.begun_by(found)
            self._read(path, FileSums(name, found.key, found.n_bytes, replaces), look)
        if look is not None:
            self._state.remember(name, look, found.key)

    def _read(self, source: str | pl.DataFrame, about: FileSums, look: list[int] | None = None) -> None:
        problems, sums = Problems(self._strict), Accumulator()
        others = self._state.others(about) if self._compare else None
        inputs = Inputs(self._saved.about, self._reading, problems, others)
        with self._state.writing(about) as writers:
            for frame in inputs.frames(source):
                about.n_responses += len(frame)
                if others is not None:
                    writers.numbers.write(frame.select(*NUMBERS))
                if self._keep_responses:
                    writers.responses.write(responses(frame, self._saved.estimator))
                if full := sums.add(score(frame, self._saved.estimator, self._support)):
                    writers.sums.write(full.frame())
            if rest := sums.rest():
                writers.sums.write(rest.frame())
            if look is not None and on_disk(str(source)) != look:
                raise _Changed
            about.seen, about.rejected, about.taken = sorted(inputs.seen), dict(inputs.rejected), dict(inputs.taken)
            if others is not None:
                self._note_same(problems, others, about.path)
                if others.all_same:
                    writers.discard()
                    about.n_responses, about.rejected, about.taken = 0, {}, {}
            about.problems = problems.as_dict()
        self.read.append(about)

    def _take_over(self, folder: Path) -> None:
        with Ownership(folder):
            added = self._state.take_over(folder)
        self.read += added
        self._took_over |= bool(added)

    @staticmethod
    def _note_same(problems: Problems, others: Others, path: str) -> None:
        if others.n_same:
            problems.note("responses that another file has too: they count once", [path], others.n_same)
        if others.n_other:
            problems.note("responses whose id another file has for something else: both count", [path], others.n_other)
