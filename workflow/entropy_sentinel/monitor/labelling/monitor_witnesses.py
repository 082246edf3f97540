"""Witnesses in the monitor: what they say of a slice's responses, the samples they have seen, and their powers."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.api.overlapping_samples import combine_weights
from entropy_sentinel.api.witness_reading import JUDGED, Witness
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.monitor.labelling.post_stratification import weigh_by_strata
from entropy_sentinel.monitor.reading.dependence import CLUSTER
from entropy_sentinel.schemas.witness_schema import SAMPLES, VALUE
from entropy_sentinel.statistics.monitoring.prediction_powered import LabelledMean
from entropy_sentinel.statistics.monitoring.witnessed_mean import LabelledSample, WitnessValues, witnessed_mean
from entropy_sentinel.statistics.witness_powers import WitnessPowers
from entropy_sentinel.statistics.witness_sets import LabelledWitnesses

# Labels, or a witness's sample, whose weights add up to a smaller share of a slice's responses come from only a part of
# it, such as one week, and do not represent the rest. A witness counts in slices of which it has seen this share of the
# labelled responses.
LEAST_SHARE = 0.6
# The column with the place of a response in its slice, and that with the number of its label among all labels.
PLACE, LABEL_NUMBER = "(place)", "(number of the label)"


def value_column(number: int) -> str:
    """The column with what the witness (judge or second model) of this number says; null where it says nothing."""
    return f"({VALUE} {number})"


def weight_column(number: int) -> str:
    """The column with how many responses each one of the sample of a witness (judge or second model) represents.

    Null outside of the sample.
    """
    return f"({WEIGHT} {number})"


def require_weights(labels: pl.DataFrame, name: str = "labels") -> None:
    """Raise InputError if a label has no weight, because the number of responses it represents is then unknown."""
    if without := labels[WEIGHT].null_count():
        raise InputError(
            f"{name}: {without:,} of {len(labels):,} have no '{WEIGHT}' (the number of responses that a label "
            "represents). Keep this column of the file from `sample`, which draws some responses more often "
            "than others. If all responses were equally likely to be labelled, use "
            f"{format_option('labels_at_random', True)}"
        )


def number_clusters(responses: pl.DataFrame) -> np.ndarray | None:
    """The number of the cluster of each response, (n,); null if no two are in the same."""
    clusters = responses[CLUSTER].drop_nulls()
    if clusters.n_unique() == len(clusters):
        return None
    single_numbers = -1 - pl.int_range(pl.len(), dtype=pl.Int64)
    numbers = pl.col(CLUSTER).rank("dense").cast(pl.Int64)
    return (
        responses.select(pl.when(pl.col(CLUSTER).is_null()).then(single_numbers).otherwise(numbers))
        .to_series()
        .to_numpy()
    )


class Strata(NamedTuple):
    """The responses of all slices in some windows: those that people were asked to label, and all."""

    drawn: pl.DataFrame
    responses: pl.DataFrame

    def weigh(self, labelled: pl.DataFrame, slice_responses: pl.DataFrame) -> pl.DataFrame | None:
        """The labels of a slice with weights by stratum; null if they do not represent it.

        A stratum is the responses with the same values of the columns by which labels were drawn.
        """
        return weigh_by_strata(labelled, slice_responses, self.drawn, self.responses, WEIGHT)

    def weigh_witness(self, number: int, slice_responses: pl.DataFrame) -> pl.DataFrame | None:
        """The sample of a witness (judge or second model) in a slice, with weights by stratum.

        Null if it does not represent the slice.
        """
        weight = weight_column(number)
        return weigh_by_strata(
            slice_responses.drop_nulls(weight),
            slice_responses,
            self.responses.drop_nulls(weight),
            self.responses,
            weight,
        )


def samples_column(number: int) -> str:
    """The column with the samples of a response, for a witness (judge or second model) of several samples."""
    return f"({SAMPLES} {number})"


class WitnessedResponses:
    """Several witnesses, their values in tables of responses, and their powers for labels.

    With `at_random`, all responses were equally likely to be seen by a witness, so values need no weight.
    """

    def __init__(self, witnesses: Sequence[Witness], at_random: bool) -> None:
        """Prepare the tables that are joined."""
        self.witnesses = tuple(witnesses)
        self._at_random = at_random
        self._has_weights = [bool(witness.rows[WEIGHT].count()) for witness in witnesses]
        # The numbers of the witnesses with several samples, whose weights are to be combined.
        self._several_samples = [
            number for number, witness in enumerate(witnesses) if witness.samples is not None and not at_random
        ]
        self._tables = [self._make_table(number) for number in range(len(witnesses))]
        self._labels: LabelledWitnesses | None = None

    def _make_table(self, number: int) -> pl.DataFrame:
        """The key, value and weight of each response that a witness (judge or second model) has seen."""
        witness = self.witnesses[number]
        weight = pl.col(WEIGHT)
        if not self._has_weights[number] or (self._at_random and witness.rows[WEIGHT].has_nulls()):
            weight = pl.lit(1.0)
        # A value without a weight, beside others that have one, corrects the witness but is not part of the sample.
        rows, sample_columns = witness.rows, []
        if number in self._several_samples:
            assert witness.samples is not None
            rows = rows.join(witness.samples, on=witness.key, how="left", maintain_order="left")
            sample_columns = [pl.col(SAMPLES).alias(samples_column(number))]
        return rows.cast({name: FEATURE_FRAME.schema[name] for name in witness.key}).select(
            *witness.key,
            pl.col(VALUE).alias(value_column(number)),
            weight.alias(weight_column(number)),
            *sample_columns,
        )

    @property
    def columns(self) -> list[str]:
        """The columns that `join` adds."""
        numbers = range(len(self.witnesses))
        columns = [column for number in numbers for column in (value_column(number), weight_column(number))]
        return columns + list(map(samples_column, self._several_samples))

    def combine_samples(self, responses: pl.DataFrame) -> pl.DataFrame:
        """All responses, with the samples of each witness (judge or second model) as one: each response counts once.

        They have the columns that `join` adds, `slice`, and `grain` (the smallest window); the columns of samples are
        dropped.
        """
        untimed = responses.filter(pl.col("grain").is_null()).group_by("slice").agg(n=pl.len())
        for number in self._several_samples:
            name = samples_column(number)
            responses = combine_weights(responses, name, weight_column(number), untimed).drop(name)
        return responses

    def join(self, responses: pl.DataFrame) -> pl.DataFrame:
        """The responses with the columns of all witnesses (judges or second models)."""
        for witness, table in zip(self.witnesses, self._tables, strict=True):
            responses = responses.join(table, on=witness.key, how="left", maintain_order="left")
        return responses

    def count_seen(self, responses: pl.DataFrame) -> np.ndarray:
        """How many of the responses each witness (judge or second model) has seen, (k,)."""
        tables = zip(self.witnesses, self._tables, strict=True)
        return np.array(
            [len(responses.join(table, on=witness.key, how="semi")) for witness, table in tables], dtype=int
        )

    def count_judged(self, responses: pl.DataFrame) -> int:
        """How many of these responses are in the sample of a witness (judge or second model)."""
        weights = [pl.col(weight_column(number)).is_not_null() for number in range(len(self.witnesses))]
        return int(responses.select(pl.any_horizontal(pl.lit(False), *weights).sum()).item())

    def use_labels(self, labelled: pl.DataFrame, responses: pl.DataFrame) -> None:
        """Let the powers rest on all labelled responses, in the order of LABEL_NUMBER.

        Raises InputError for a witness (judge or second model) without weights that has seen only some of the
        responses.
        """
        columns = [value_column(number) for number in range(len(self.witnesses))]
        self._labels = LabelledWitnesses(
            labelled["label"].cast(pl.Float64),
            witnesses=labelled.select(pl.col(*columns, "p").cast(pl.Float64).fill_null(np.nan)).to_numpy(),
            domains=labelled["slice"],
            recognises=[*[True] * len(columns), False],
            clusters=number_clusters(labelled),
        )
        for number, witness in enumerate(self.witnesses):
            seen = responses[value_column(number)].count()
            if not self._at_random and not self._has_weights[number] and seen < len(responses):
                require_weights(pl.DataFrame({WEIGHT: [None] * seen}), f"{JUDGED}: {witness.name}")

    def measure_powers(self, numbers: tuple[int, ...]) -> WitnessPowers | None:
        """The powers of some witnesses (judges or second models) and, last, of predictions; null with too few labels.

        A power is the weight of their values.
        """
        return None if self._labels is None else self._labels.fit_powers([*numbers, len(self.witnesses)])

    def choose(self, labelled: pl.DataFrame, responses: pl.DataFrame, strata: Strata | None) -> dict[int, np.ndarray]:
        """The samples of the witnesses (judges or second models) that count in a slice, by their numbers.

        A sample is its weights, (n_responses,). A witness counts if it has seen most of the slice's labels, its sample
        represents the slice, and the labels are enough to tell the powers. `strata` are null if labels were drawn by
        the slices themselves.
        """
        samples: dict[int, np.ndarray] = {}
        for number in range(len(self.witnesses)):
            if labelled[value_column(number)].count() >= LEAST_SHARE * len(labelled):
                weights = self._sample_weights(number, responses, strata)
                if weights is not None:
                    samples[number] = weights
        chosen = (
            () if self._labels is None else self._labels.choose_witnesses(list(samples), required=len(self.witnesses))
        )
        return {number: samples[number] for number in chosen}

    def _sample_weights(self, number: int, responses: pl.DataFrame, strata: Strata | None) -> np.ndarray | None:
        """The weights of the sample of a witness (judge or second model), (n_responses,), 0 outside of it.

        Null if the sample does not represent the slice.
        """
        column = weight_column(number)
        has_weights = self._has_weights[number] and not self._at_random
        if strata is not None and has_weights:
            sample = strata.weigh_witness(number, responses)
        else:
            sample = responses.drop_nulls(column)
            if sample.is_empty() or (has_weights and sample[column].sum() < LEAST_SHARE * len(responses)):
                sample = None
        if sample is None:
            return None
        weights = np.zeros(len(responses))
        weights[sample[PLACE].to_numpy()] = sample[column].to_numpy()
        return weights

    def mean(
        self, labelled: pl.DataFrame, responses: pl.DataFrame, level: float, strata: Strata | None
    ) -> LabelledMean | None:
        """The accuracy of a slice from labels, predictions and witnesses (judges or second models).

        It is null if no witness counts in it. `labelled` are rows of `responses` with PLACE, LABEL_NUMBER, and the
        weights that count.
        """
        samples = self.choose(labelled, responses, strata)
        powers = self.measure_powers(tuple(samples)) if samples else None
        if powers is None:
            return None
        weights = labelled[WEIGHT]
        witnesses = []
        for number, sample_weights in samples.items():
            values = responses[value_column(number)].fill_null(np.nan).to_numpy()
            witnesses.append(WitnessValues(values, sample_weights))
        return witnessed_mean(
            LabelledSample(
                labelled["label"].cast(pl.Float64),
                labelled[PLACE].to_numpy(),
                None if weights.has_nulls() else weights,
            ),
            witnesses=witnesses,
            predicted=responses["p"],
            powers=powers.by_label[labelled[LABEL_NUMBER].to_numpy()],
            level=level,
            clusters=number_clusters(responses),
        )
