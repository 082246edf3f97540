"""Names as tables, figures and the report show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

# Sets of domains over which AEE and rho are computed, with their headings; the one shown at the top is first.
SCOPES: dict[str, str] = {"held_out": "unseen", "all": "all"}
SCOPE_NOTE = "unseen: domains outside the training group; all: also those of the group, on their test split."
ROLES: dict[str, str] = {"training": "training", "held_out": "unseen"}


class NamedGroup(TypedDict):
    """Settings of a named training group."""

    benchmarks: list[str]
    estimator: str


Groups = Mapping[str, NamedGroup]


class ExhibitSettings(TypedDict):
    """Settings of all exhibits and pages of an analysis: the study's label, and the training groups shown, by name.

    `headline_group` is the name of the group whose results are shown where there is room for only one.
    Settings and files of jobs are dicts, which Snakemake compares; classes like this one declare their keys.
    """

    label: str
    groups: Groups
    headline_group: str


@dataclass(frozen=True)
class TrainingGroup:
    """A named training group: its name as shown, its id as in all frames, and the estimator shown for it."""

    title: str
    group_id: str
    estimator: str

    @property
    def benchmarks(self) -> str:
        """The group's benchmarks as text, `gsm8k, math`."""
        return format_group(self.group_id)


def find_training_group(groups: Groups, name: str) -> TrainingGroup:
    """The group of this name; `cross-domain` is shown as "Cross-Domain", an unnamed group by its benchmarks.

    The name of an unnamed group is its id.
    """
    group_id = "+".join(sorted(groups[name]["benchmarks"]))
    title = format_group(group_id) if name == group_id else name.title()
    return TrainingGroup(title, group_id, groups[name]["estimator"])


def list_training_groups(groups: Groups) -> list[TrainingGroup]:
    """All named groups."""
    return [find_training_group(groups, name) for name in groups]


def list_main_groups(groups: Groups, names: Sequence[str]) -> list[TrainingGroup]:
    """The named groups with these `names`, in their order."""
    return [find_training_group(groups, name) for name in names]


def list_further_groups(groups: Groups, names: Sequence[str]) -> list[TrainingGroup]:
    """The named groups except those with these `names`."""
    return [find_training_group(groups, name) for name in groups if name not in names]


def format_group(group: str) -> str:
    """A group's id, `gsm8k+math`, as "gsm8k, math": a table cell can break there."""
    return group.replace("+", ", ")
