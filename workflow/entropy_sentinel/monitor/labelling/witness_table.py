"""How good each witness of a monitor is by the labels, and what a label is worth with all of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from entropy_sentinel.api.witness_reading import Witness
from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.statistics.witness_quality import Measure, Rate, measure_probabilities, measure_verdicts


@dataclass(frozen=True)
class WitnessQuality:
    """A witness that has seen `n_seen` responses of the logs, `n_labelled` of them with a label by people.

    Verdicts and second opinions have `sensitivity` and `specificity`: how often they say "correct" or agree where the
    label is right, and do not where it is wrong. Probabilities have `auroc` and `calibration_error`. `power` is the
    weight of its values, from 0 (useless) to 1; null if it counts in no slice. `responses_of` is the model of these
    responses, null if only one is watched.
    """

    name: str
    kind: str
    model: str | None
    n_labelled: int
    n_seen: int
    power: float | None
    responses_of: str | None = None
    sensitivity: Rate | None = None
    specificity: Rate | None = None
    auroc: Measure | None = None
    calibration_error: Measure | None = None

    def line(self) -> str:
        """A sentence about the witness."""
        if not self.n_labelled:
            quality = "no response with a label, so labels cannot correct it"
        elif self.auroc is not None:
            quality = f"AUROC {self.auroc}, mean probability minus accuracy {self.calibration_error}, "
            quality += f"by {format_count(self.n_labelled, 'label')}"
        else:
            rates = []
            for answers, rate in (("right answers", self.sensitivity), ("wrong answers", self.specificity)):
                if rate is not None and rate.share is not None:
                    limits = f"{rate.lower:.2f} to {rate.upper:.2f}"
                    rates.append(f"{rate.share:.2f} of {answers} ({limits}, {format_count(rate.n, 'label')})")
            quality = f"it agrees with the labels on {', and '.join(rates)}"
        if self.power is not None:
            quality += f"; power {self.power:.2f}"
        elif self.n_labelled:
            quality += "; it does not count: too few labels, or not of most labelled responses of a slice"
        responses = format_count(self.n_seen, "response")
        if self.responses_of:
            responses += f" of {self.responses_of}"
        return f"{self.name} ({responses}): {quality}"

    def to_dict(self) -> dict[str, Any]:
        """The quality as JSON."""
        return asdict(self) | {"used": self.power is not None}

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> "WitnessQuality":
        """The quality from the JSON of `to_dict`, whose rates and measures are objects."""
        fields = {name: value for name, value in kept.items() if name != "used"}
        for names, measure in ((("sensitivity", "specificity"), Rate), (("auroc", "calibration_error"), Measure)):
            fields |= {name: measure(**kept[name]) for name in names if kept[name] is not None}
        return cls(**fields)


def measure_witness(
    witness: Witness, labels: Numbers, values: Numbers, n_seen: int, power: float | None, level: float
) -> WitnessQuality:
    """The quality of a witness (judge or second model) by its values for n labelled responses, (n,).

    `level` is that of the intervals.
    """
    quality = WitnessQuality(
        witness.name, kind=witness.kind.value, model=witness.model, n_labelled=len(labels), n_seen=n_seen, power=power
    )
    if witness.has_probabilities:
        auroc, error = measure_probabilities(labels, values, level)
        return WitnessQuality(**vars(quality) | {"auroc": auroc, "calibration_error": error})
    sensitivity, specificity = measure_verdicts(labels, values, level)
    return WitnessQuality(**vars(quality) | {"sensitivity": sensitivity, "specificity": specificity})


def measure_label_worth(slices: pl.DataFrame) -> float | None:
    """How many labels tell without witnesses (judges or second models) as much as one label with them.

    It is over all slices with labels and witnesses; null without any.
    """
    if "labels_worth" not in slices.columns:
        return None
    rows = slices.filter(pl.col("labels_worth").is_not_null(), pl.col("n_judged") > 0)
    n_labelled = int(rows["n_labelled"].sum())
    return float(rows["labels_worth"].sum()) / n_labelled if n_labelled else None
