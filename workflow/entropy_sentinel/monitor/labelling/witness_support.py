"""What a witness says of the slices of a run: where it may be an estimate, and how large its errors are on labels."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from entropy_sentinel.api.input_checks import WEIGHT
from entropy_sentinel.api.witness_reading import Witness
from entropy_sentinel.judges.answer_matching import COMPARABLE_SHARE
from entropy_sentinel.monitor.labelling.monitor_witnesses import number_clusters
from entropy_sentinel.schemas.witness_schema import COMPARABLE, LOGGED_RIGHT, PARTNER_RIGHT, VALUE, WitnessKind
from entropy_sentinel.statistics.monitoring.partner_strength import (
    PartnerCheck,
    PartnerVerdict,
    check_by_reference,
    check_partner,
)
from entropy_sentinel.statistics.monitoring.requested_slices import (
    FEWEST_LABELS,
    WitnessedSlice,
    WitnessErrors,
    measure_witness_errors,
)
from entropy_sentinel.statistics.monitoring.verdict_calibration import VerdictCalibration, calibrate_verdicts

# The column of asked responses with the label by people.
PEOPLE = "people"


@dataclass(frozen=True)
class AskedWitness:
    """A witness, and the responses of each slice about which it was asked, with the labels by people as PEOPLE.

    With `at_random`, all responses of a slice were equally likely to be asked about.
    """

    witness: Witness
    rows: pl.DataFrame
    at_random: bool
    _errors: dict[bytes, WitnessErrors] = field(default_factory=dict, compare=False)
    # By the number of the slice whose labels are left out, -1 if it has none.
    _calibrations: dict[int, VerdictCalibration | None] = field(default_factory=dict, compare=False)

    @property
    def is_opinion(self) -> bool:
        """Whether it is a second opinion."""
        return self.witness.kind == WitnessKind.SECOND_OPINION

    @cached_property
    def slices(self) -> dict[int, pl.DataFrame]:
        """The rows of each slice by its number."""
        return {int(str(number)): part for (number,), part in self.rows.partition_by("slice", as_dict=True).items()}

    @cached_property
    def estimable(self) -> frozenset[int]:
        """The slices of which it may be an estimate: those whose answers can be compared; of a judge, all."""
        if not self.is_opinion:
            return frozenset(self.slices)
        share = self.rows.group_by("slice").agg(pl.col(COMPARABLE).fill_null(False).mean())
        return frozenset(share.filter(pl.col(COMPARABLE) >= COMPARABLE_SHARE)["slice"].to_list())

    @cached_property
    def check(self) -> PartnerCheck | None:
        """The strength of the model that gives the second opinion, on the slices of which it may be an estimate."""
        if not self.is_opinion:
            return None
        rows = self.rows.filter(pl.col("slice").is_in(self.estimable))
        # Both answers were compared with a reference answer, or people have labelled the logged one.
        referenced, labelled = rows.drop_nulls([PARTNER_RIGHT, LOGGED_RIGHT]), rows.drop_nulls(PEOPLE)
        if len(referenced) > len(labelled):
            partner, logged = (referenced[name].cast(pl.Float64) for name in (PARTNER_RIGHT, LOGGED_RIGHT))
            return check_by_reference(partner, logged, referenced[VALUE], number_clusters(referenced))
        return check_partner(labelled[PEOPLE].cast(pl.Float64), labelled[VALUE], number_clusters(labelled))

    @property
    def is_refused(self) -> bool:
        """Whether it is the second opinion of a model that is not strong enough."""
        return self.check is not None and self.check.verdict == PartnerVerdict.WEAK

    def describe_slice(self, number: int, part: pl.DataFrame, n: float, estimated: float) -> WitnessedSlice | None:
        """What the witness says of `part`, responses of slice `number`, for an estimate; null if it gives none.

        `n` is the effective number of all responses of the row. `estimated` is an estimator's accuracy with which the
        witness is averaged, or NaN.
        """
        values = part[VALUE].to_numpy() if self.is_opinion else self._calibrate(number, part)
        if values is None or number not in self.estimable:
            return None
        weights = None
        if not self.at_random and part[WEIGHT].count():
            weights = part[WEIGHT].fill_null(np.nan).to_numpy()
        labels = part[PEOPLE].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return WitnessedSlice(
            values,
            labels,
            n_effective=n,
            weights=weights,
            clusters=number_clusters(part),
            estimated=None if np.isnan(estimated) else estimated,
        )

    def errors(self, accuracies: np.ndarray) -> WitnessErrors:
        """Its errors on labelled slices.

        `accuracies`, (n_slices,), are those with which it is averaged; if all are NaN, it stands alone.
        """
        key = accuracies.tobytes()
        if key not in self._errors:
            averaged = not np.isnan(accuracies).all()
            described = []
            for number in sorted(self.estimable):
                if not averaged or not np.isnan(accuracies[number]):
                    part = self.slices[number]
                    one = self.describe_slice(number, part, np.nan, float(accuracies[number]))
                    if one is not None:
                        described.append(one)
            self._errors[key] = measure_witness_errors(described)
        return self._errors[key]

    def labelled_accuracies(self) -> dict[int, float]:
        """The accuracies of the slices whose errors are measured, from labels of asked responses, by number."""
        labelled = self.rows.drop_nulls(PEOPLE).filter(pl.col("slice").is_in(self.estimable))
        accuracies = labelled.group_by("slice").agg(pl.col(PEOPLE).mean(), n=pl.len()).sort("slice")
        return dict(accuracies.filter(pl.col("n") >= FEWEST_LABELS).select("slice", PEOPLE).iter_rows())

    @cached_property
    def _label_arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The slices, values and labels of the responses with a label by people, (n,) each."""
        labelled = self.rows.drop_nulls(PEOPLE)
        slices, values, labels = (labelled[name].cast(pl.Float64).to_numpy() for name in ("slice", VALUE, PEOPLE))
        return slices, values, labels

    def _calibrate(self, number: int, part: pl.DataFrame) -> np.ndarray | None:
        """P(correct) of a slice's responses by the labels of the other slices; null with too few of these."""
        slices, values, labels = self._label_arrays
        is_other_slice = slices != number
        # A slice without labels does not matter to the calibration, so all such slices share one.
        key = -1 if is_other_slice.all() else number
        if key not in self._calibrations:
            self._calibrations[key] = calibrate_verdicts(values[is_other_slice], labels[is_other_slice])
        calibration = self._calibrations[key]
        return None if calibration is None else calibration.probabilities(part[VALUE])


def describe_witness(asked: AskedWitness, accuracies: np.ndarray) -> dict[str, Any]:
    """What labels show of a witness (judge or second model) as an estimate, JSON-serialisable.

    `accuracies`, (n_slices,), are an estimator's, NaN without one. `error`, `estimator_error` and `mean_error` are mean
    absolute differences to the labelled accuracies of `n_slices` slices: of the witness, of the estimator, and of the
    mean accuracy of the other slices. They are null without such slices.
    """
    errors, true = asked.errors(np.full(len(accuracies), np.nan)), asked.labelled_accuracies()
    about: dict[str, Any] = {"name": asked.witness.name, "kind": asked.witness.kind.value, "n_asked": len(asked.rows)}
    about |= {"n_slices_asked": len(asked.slices), "n_estimable": len(asked.estimable)}
    about["n_slices"], about["n_rows"] = len(errors.errors), len(asked.witness.rows)
    about["says_comparable"] = bool(asked.rows[COMPARABLE].count())
    about |= {"error": _mean_distance(errors.errors), "estimator_error": None, "mean_error": None}
    labels = np.array(list(true.values()))
    if len(labels) > 1:
        about["mean_error"] = _mean_distance((labels.sum() - labels) / (len(labels) - 1) - labels)
    estimator_errors = accuracies[list(true)] - labels if true else np.zeros(0)
    about["estimator_error"] = _mean_distance(estimator_errors[~np.isnan(estimator_errors)])
    if asked.check is not None:
        about["partner"] = asked.check._asdict() | {"verdict": asked.check.verdict.value}
    return about


def _mean_distance(errors: np.ndarray) -> float | None:
    """The mean absolute error; None without errors."""
    return float(np.abs(errors).mean()) if len(errors) else None
