"""A folder with the sums of every file that has been read, so that a later run reads what is new alone.

    state.json                  whose sums these are: the estimator's checksum, and how responses were read
    files/KEY.json              a file that counts: what was seen in it, and the checksums of what follows
    sums/KEY.parquet            of one file: sums by slice and smallest window
    responses/KEY.parquet       of one file: each response's id and prediction, to which labels may come later
    numbers/KEY.parquet         of one file: a number for each response, by which it is known in another (`identity`)
    places.json                 where the files lay, their sizes and times: one that looks the same is not opened

KEY is the SHA-256 of the file's content, unpacked: a file that was moved, copied or packed is known again. A file that
begins with the whole content of one that was read before, as a log that has grown, is read whole and takes its place;
the key of what it replaced is remembered with it, for that content may lie about elsewhere. Responses that another
file has count once. `files/KEY.json` is written in one step and after everything else, so that a killed run leaves
nothing that counts; two runs at once wait for each other (`jobs.ownership`). It says too which statistics the sums
have, and of which version (`monitor.catalogue`): a file of which one is not known is read again where it is given, and
what is known of it counts where it is not.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

import polars as pl

from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.monitor.catalogue import STATISTICS
from entropy_sentinel.monitor.reading.content import Content
from entropy_sentinel.monitor.reading.identity import NUMBERS as NUMBERS_OF
from entropy_sentinel.monitor.reading.identity import Others
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.monitor.summing.file_sums import FileSums
from entropy_sentinel.monitor.summing.folder import FILES, NUMBERS, PARTS, RESPONSES, SUMS, open_folder
from entropy_sentinel.monitor.summing.overlap import Overlap
from entropy_sentinel.monitor.summing.stored import Writer, read_json, row_groups, write_json
from entropy_sentinel.monitor.summing.sums import Partial

_PLACES = "places.json"


class State:
    """The sums of an estimator, named by its file's SHA-256, and one way of reading."""

    def __init__(self, folder: Path, estimator: str, checksum: str, reading: Reading) -> None:
        """Open the folder, or begin one.

        ProvenanceError where it holds sums of something else, DamagedFileError where a file is not as it was written.
        """
        self.folder, self._whose = folder, (estimator, checksum, reading)
        open_folder(folder, *self._whose)
        found = (FileSums.of(read_json(path, folder)) for path in sorted((folder / FILES).glob("*.json")))
        self.files = {about.key: about for about in found}
        # A run that was killed here may have left what was replaced, and parts of a file that never counted.
        for replaced in {key for one in self.files.values() for key in one.replaces} & set(self.files):
            self.drop(replaced)
        for part in PARTS:
            for path in (folder / part).glob("*.parquet"):
                if path.stem not in self.files:
                    path.unlink()
        self._places = read_json(folder / _PLACES, folder) if (folder / _PLACES).exists() else {}
        self.overlap = Overlap(self.files, self.numbers)

    def known(self, path: str) -> str | None:
        """The key of a file of which all is known, if its size and time are as they were: it is not opened."""
        *look, key = self._places.get(str(Path(path).absolute()), (None,))
        return key if look == on_disk(path) and self.holder(key) and not self.lacking(key) else None

    def holder(self, key: str) -> FileSums | None:
        """The file that has the content of this key: that of the key, or one that begins with it."""
        return self.files.get(key) or next((one for one in self.files.values() if key in one.replaces), None)

    def lacking(self, key: str) -> list[str]:
        """The statistics that are not known of the file with just this content."""
        return self.files[key].unknown if key in self.files else []

    def remember(self, path: str, look: list[int], key: str) -> None:
        """Note that the file, which looked so, holds what `key` names."""
        self._places[str(Path(path).absolute())] = [*look, key]
        write_json(self.folder / _PLACES, self._places)

    def begun_by(self, content: Content) -> list[str]:
        """The keys of all that was read before whose whole content this one begins with."""
        found = [key for key in content.beginnings if key in self.files and key != content.key]
        return sorted({*found, *(one for key in found for one in self.files[key].replaces)})

    @contextmanager
    def writing(self, about: FileSums) -> Iterator[dict[str, Writer]]:
        """Writers of the PARTS of a file, which count when the block has ended."""
        with ExitStack() as stack:
            paths = {part: self.folder / part / f"{about.key}.parquet" for part in PARTS}
            writers = {part: Writer(stack.enter_context(whole_file(path))) for part, path in paths.items()}
            yield writers
            about.checksums = {part: writer.close() for part, writer in writers.items()}
        write_json(self.folder / FILES / f"{about.key}.json", asdict(about))
        self.files[about.key] = about
        for replaced in about.replaces:
            self.drop(replaced)
        self.overlap.add(about.key)

    def take_over(self, folder: Path) -> list[FileSums]:
        """Add the files of another state of the same estimator and reading, as of a part of the logs; those added.

        A file all of whose responses are in another counts for nothing. Of sums, single responses cannot be taken off.
        """
        other, added = State(folder, *self._whose), []
        for key, about in other.files.items():
            if self.lacking(key) and not about.unknown:
                self.forget(key)
            new, others = other.numbers(key), self.others(about)
            others.count(new)
            if self.holder(key) or others.all_same:
                continue
            if others.any_same:
                about.replaces = sorted({*about.replaces, *self.overlap.within(new)})
            about.statistics = {name: one for name, one in about.statistics.items() if name in STATISTICS}
            with self.writing(about) as writers:
                for part in other.sums(key):
                    writers[SUMS].write(part.frame())
                for frame in other.responses(key):
                    writers[RESPONSES].write(frame)
                writers[NUMBERS].write(new)
            added.append(about)
        return added

    def others(self, about: FileSums) -> Others:
        """The responses of all files but for what this one replaces."""
        return self.overlap.others(about.replaces)

    def sums(self, key: str) -> Iterator[Partial]:
        """The sums of a file, in parts of bounded size."""
        known = STATISTICS.keys() - set(self.files[key].unknown)
        if self.files[key].n_responses:
            for frame in self._frames(SUMS, key):
                yield Partial.of(frame, known)

    def responses(self, key: str) -> Iterator[pl.DataFrame]:
        """The responses of a file that are estimated: RESPONSE, `by.COLUMN`, `grain` and the prediction `p`."""
        yield from (frame for frame in self._frames(RESPONSES, key) if frame.width)

    def numbers(self, key: str) -> pl.DataFrame:
        """The numbers of a file's responses, columns `identity.NUMBERS`."""
        return pl.concat(
            [pl.DataFrame(schema=NUMBERS_OF), *(frame for frame in self._frames(NUMBERS, key) if frame.width)]
        )

    def _frames(self, part: str, key: str) -> Iterator[pl.DataFrame]:
        path = self.folder / part / f"{key}.parquet"
        return row_groups(path, self.files[key].checksums[part], self.folder)

    def forget(self, key: str) -> None:
        """Forget a file, to read it again."""
        self.drop(key)
        self.overlap.forget()

    def drop(self, key: str) -> None:
        """Forget a file whose responses count in another one."""
        self.files.pop(key, None)
        (self.folder / FILES / f"{key}.json").unlink(missing_ok=True)
        for part in PARTS:
            (self.folder / part / f"{key}.parquet").unlink(missing_ok=True)


def on_disk(path: str) -> list[int]:
    """What a look at a file tells: its size and the time of its last change."""
    found = Path(path).stat()
    return [found.st_size, found.st_mtime_ns]
