"""Powers of sets of witnesses: some have seen other responses than others, so each set has its own labels."""

from collections.abc import Sequence

import numpy as np

from entropy_sentinel.statistics.array_types import Names, Numbers
from entropy_sentinel.statistics.witness_powers import WitnessPowers, fit_witness_powers


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

    def fit_powers(self, columns: Sequence[int]) -> WitnessPowers | None:
        """The powers of some witnesses, `columns`, for each label, in their order; null with too few labels.

        They rest on the labels of responses of which all of these witnesses say something. The other labels get the
        pooled powers.
        """
        key = tuple(columns)
        if key not in self._powers:
            witnesses = self._witnesses[:, key]
            is_complete = ~np.isnan(witnesses).any(axis=1)
            clusters = None if self._clusters is None else self._clusters[is_complete]
            recognises = [self._recognises[column] for column in key]
            powers = fit_witness_powers(
                self._labels[is_complete], witnesses[is_complete], self._domains[is_complete], recognises, clusters
            )
            if powers is not None:
                by_label = np.tile(powers.pooled, (len(self._labels), 1))
                by_label[is_complete] = powers.by_label
                powers = WitnessPowers(by_label, powers.pooled)
            self._powers[key] = powers
        return self._powers[key]

    def choose_witnesses(self, columns: Sequence[int], required: int) -> tuple[int, ...]:
        """Those of the witnesses `columns` whose powers can be estimated together with that of the witness `required`.

        While they have too few labels in common, the one with the fewest labels is left out.
        """
        n_labels = (~np.isnan(self._witnesses)).sum(axis=0)
        kept = list(columns)
        while kept and self.fit_powers([*kept, required]) is None:
            kept.remove(min(kept, key=lambda column: int(n_labels[column])))
        return tuple(kept)
