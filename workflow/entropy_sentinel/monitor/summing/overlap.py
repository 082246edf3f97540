"""Which responses the files of a state share: each counts once."""

from collections.abc import Callable, Collection, Iterable, Iterator

import polars as pl

from entropy_sentinel.monitor.reading.identity import ID, PLACED, RESPONSE, Others, Seen


class Overlap:
    """The responses of files, by their numbers; `numbers` gives those of a file, columns NUMBERS."""

    def __init__(self, files: Collection[str], numbers: Callable[[str], pl.DataFrame]) -> None:
        """`files` are the keys of those that count, now and whenever it is asked."""
        self._files, self._numbers = files, numbers
        self._seen: tuple[Seen, Seen] | None = None

    def others(self, replaced: Iterable[str]) -> Others:
        """The responses of all files but for what a new one replaces."""
        if self._seen is None:
            frames = [self._numbers(key) for key in self._files]
            responses, ids = ([one[name].to_numpy() for one in frames] for name in (RESPONSE, ID))
            self._seen = Seen(responses), Seen(ids)
        old = [self._numbers(key)[RESPONSE].to_numpy() for key in replaced if key in self._files]
        return Others(*self._seen, Seen(old))

    def add(self, key: str) -> None:
        """Note the responses of a file that counts from now on; what it replaces is among them."""
        if self._seen is not None:
            new = self._numbers(key)
            for seen, name in zip(self._seen, (RESPONSE, ID), strict=True):
                seen.add(new[name].to_numpy())

    def forget(self) -> None:
        """Look anew at the files that count."""
        self._seen = None

    def within(self, new: pl.DataFrame) -> Iterator[str]:
        """The files all of whose responses are among these."""
        there = Seen([new[RESPONSE].to_numpy()])
        for key in self._files:
            mine = self._numbers(key)[RESPONSE].to_numpy()
            if len(mine) and there.has(mine).all():
                yield key

    def n_twice(self) -> int:
        """How many responses count more than once, as those of parts that were added up before they were seen here."""
        found = pl.concat([self._numbers(key) for key in self._files]).filter(~pl.col(PLACED))[RESPONSE]
        return len(found) - found.n_unique()
