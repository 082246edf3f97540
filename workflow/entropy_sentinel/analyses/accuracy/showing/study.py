"""What the report and the summaries tell of: the frames of a study, and what is read off them once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from entropy_sentinel.analyses.accuracy.showing.advice import Advice, advise
from entropy_sentinel.analyses.accuracy.showing.ambiguous import ambiguous
from entropy_sentinel.analyses.accuracy.showing.failures import failures, gaps
from entropy_sentinel.analyses.accuracy.showing.headline import Headline, headlines
from entropy_sentinel.analyses.accuracy.showing.machine_summary import machine_summary
from entropy_sentinel.analyses.accuracy.showing.unjudged import Unjudged
from entropy_sentinel.analyses.accuracy.showing.verdicts import ModelValidation
from entropy_sentinel.analyses.headings import Groups, TrainingGroup, training_group


@dataclass(frozen=True)
class Study:
    """What the page and the summaries tell of: frames of these contracts, and one `ModelValidation` per model."""

    estimates: pl.DataFrame
    sweep: pl.DataFrame
    domains: pl.DataFrame
    validations: Sequence[ModelValidation]
    groups: Groups
    headline_group: str
    unjudged: Sequence[Unjudged] = ()

    @cached_property
    def group(self) -> TrainingGroup:
        """The headline group."""
        return training_group(self.groups, self.headline_group)

    @cached_property
    def headlines(self) -> list[Headline]:
        """What the headline group says, by model."""
        return headlines(self.estimates, self.sweep, self.group)

    @cached_property
    def advice(self) -> list[Advice]:
        """On training domains, by model."""
        return advise(self.domains, self.validations, self.group)

    @cached_property
    def ambiguous(self) -> list[str]:
        """Domains whose estimates are not to be trusted if their questions have several right answers, in sentences."""
        return list(ambiguous(self.domains))

    @cached_property
    def failures(self) -> list[str]:
        """What has no result, in sentences."""
        return [*(one.text for one in self.unjudged), *failures(self.sweep, self.validations)]

    def machine_summary(self, label: str, default: str) -> dict[str, Any]:
        """The summary for programs."""
        told = self.advice, self.ambiguous, self.failures, gaps(self.domains)
        return machine_summary(label, self.validations, self.headlines, self.group, default, *told)
