"""Powers of sets of witnesses: some have seen other responses than others, so each set has its own labels."""

from collections.abc import Sequence

import numpy as np

from entropy_sentinel.statistics.array_types import Names, Numbers
from entropy_sentinel.statistics.witness_powers import WitnessPowers, witness_powers


class LabelledWitnesses:
    """n labels of several domains, and the k witnesses of these responses, (n, k), NaN where one says nothing.

    `recognises`, (k,), says which witnesses say whether a response is correct; `clusters`, (n,), are clusters of
    dependent labels. Both are as in `witness_powers`.
    """

    def __init__(
        self,
        labels: Numbers,
        witnesses: np.ndarray,
        domains: Names | Numbers,
        recognises: Sequence[bool],
        clusters: Names | Numbers | None = None,
    ) -> None:
        self._labels, self._witnesses = np.asarray(labels, dtype=float), np.asarray(witnesses, dtype=float)
        self._domains, self._recognises = np.asarray(domains), tuple(recognises)
        self._clusters = None if clusters is None else np.asarray(clusters)
        self._powers: dict[tuple[int, ...], WitnessPowers | None] = {}

    def powers_of(self, columns: Sequence[int]) -> WitnessPowers | None:
        """The powers of some witnesses for each label, in their order; null with too few labels.

        They rest on the labels of which all of them say something. The other labels get the same as all.
        """
        key = tuple(columns)
        if key not in self._powers:
            witnesses = self._witnesses[:, key]
            both = ~np.isnan(witnesses).any(axis=1)
            clusters = None if self._clusters is None else self._clusters[both]
            recognises = [self._recognises[column] for column in key]
            found = witness_powers(self._labels[both], witnesses[both], self._domains[both], recognises, clusters)
            if found is not None:
                each = np.tile(found.pooled, (len(self._labels), 1))
                each[both] = found.each
                found = WitnessPowers(each, found.pooled)
            self._powers[key] = found
        return self._powers[key]

    def choose(self, columns: Sequence[int], always: int) -> tuple[int, ...]:
        """Those of some witnesses whose powers labels tell, together with the witness `always`.

        Of witnesses with too few labels in common, those with the fewest labels are left out.
        """
        n_labels = (~np.isnan(self._witnesses)).sum(axis=0)
        kept = list(columns)
        while kept and self.powers_of([*kept, always]) is None:
            kept.remove(min(kept, key=lambda column: int(n_labels[column])))
        return tuple(kept)
