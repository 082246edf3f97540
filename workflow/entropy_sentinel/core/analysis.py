"""The base class of analyses, which are folders: their config sections, and what they need from the core."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from entropy_sentinel.core.registry_entries import load_classes
from entropy_sentinel.core.section_base import DISTINCT, Name, Settings, check_names


@dataclass(frozen=True)
class StudyNames:
    """The names that a study runs, and the names in its config, which an analysis may use."""

    models: list[str]
    benchmarks: list[str]
    judges: list[str]
    # Benchmarks with references, which have a true accuracy.
    labelled: list[str]
    # Benchmarks with right answers and their names, which have their own distribution of answers.
    answered: list[str]
    # Benchmarks that every judge of run.judges labels, because they have no judge of their own.
    compared: list[str]
    # Named training groups; if none is run, the id of the first training group, or nothing.
    groups: list[str]
    # Kept estimators, with P(correct) of every response if they give it.
    kept: list[str]
    # Estimators with estimates from every training group; a group also has those of its own.
    estimated: list[str]
    # Families of signals, and the number of responses per item of the model with the fewest.
    families: list[str]
    samples: int
    # All names by axis, including those that are not run.
    names_by_axis: Mapping[str, Iterable[str]]

    def select_run(self, axis: str, where: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
        """The `names` that are run, and a line about the others; raises ValueError for an unknown name.

        `axis` is a field of this class with names: models, benchmarks, labelled, answered, judges, groups, kept or
        estimated. Lines begin with `where`, the key of the config that has the names.
        """
        names_run = getattr(self, axis)
        nouns = {"models": "model", "groups": "group", "judges": "judge", "kept": "estimator", "estimated": "estimator"}
        allowed = dict.fromkeys([*self.names_by_axis[axis], *names_run])
        check_names(f"{nouns.get(axis, 'benchmark')} in {where}:", names, allowed)
        present = [name for name in names if name in names_run]
        absent = [name for name in names if name not in names_run]
        if not absent:
            return present, []
        reasons = {
            "labelled": "not run, or without references",
            "answered": "not run, or without answers",
            "kept": "not in estimation.keep",
            "estimated": "not in estimation.estimators",
        }
        return present, [f"{where}: left out because {reasons.get(axis, 'not run')}: {', '.join(absent)}"]


class Reads(Enum):
    """The training groups whose estimates an analysis reads."""

    ALL = "all"
    SHOWN = "shown"  # the named ones


@dataclass(frozen=True)
class StageFiles:
    """The files of a stage, for `planning`: a template of their paths, and the stages that they are built from."""

    file: str
    made_from: tuple[str, ...] = ()
    # For a file that combines others: the column that identifies them, and its axis.
    gathers: Mapping[str, str] = field(default_factory=dict)


class Analysis(Settings):
    """The base of every analysis.

    The core knows no analysis by name; this class declares what it needs from one.
    """

    # Its page, relative to results/<study>/, with {judge} and {model} if each has its own, and the text of the link to
    # it; without a page there is no link.
    PAGE: ClassVar[str] = ""
    TELLS: ClassVar[str] = ""
    # The estimates that it reads; without these, its study needs no training group.
    READS: ClassVar[Reads | None] = None
    # Whether it needs labels; if no analysis of a study does, no judge is asked.
    READS_LABELS: ClassVar[bool] = True
    # Titles of its possible tables and figures, by name.
    TABLES: ClassVar[Mapping[str, str]] = {}
    FIGURES: ClassVar[Mapping[str, str]] = {}
    # Its own stages, by name, for `entropy-sentinel progress`, with files as in PAGE. They are built from stages of the
    # pipeline and from earlier ones here.
    STAGES: ClassVar[Mapping[str, StageFiles]] = {}

    labels: dict[Name, str] = Field(
        {}, description="title by study, shown with every table and figure; by default the study's name"
    )
    tables: Annotated[list[str], DISTINCT] | None = Field(None, description="names of the tables to make; null for all")
    figures: Annotated[list[str], DISTINCT] | None = Field(
        None, description="names of the figures to make; null for all"
    )

    @model_validator(mode="after")
    def _exhibits_are_known(self) -> Self:
        check_names("table", self.tables or [], self.TABLES)
        check_names("figure", self.figures or [], self.FIGURES)
        return self

    def uses_judge(self, judge: str) -> bool:
        """Whether the analysis uses a judge's labels: those of its key `judges`, or of all without that key."""
        chosen: list[str] | None = getattr(self, "judges", None)
        return not chosen or judge in chosen

    @classmethod
    def folder(cls) -> str:
        """The first folder of its page, below results/<study>/."""
        return cls.PAGE.split("/")[0]

    def label(self, study: str) -> str:
        """The text shown with every table and figure of a study."""
        return self.labels.get(study, study)

    def obstacle(self, studied: StudyNames) -> str | None:
        """Why the analysis is impossible with what is run; None if it is possible."""
        return None

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """These settings, with null fields set from `studied`, and a line for each name that was left out.

        `studied` has the names of what the study runs. Raises ValueError for an unknown name, and if none of the
        settings' names is run.
        """
        return self, []

    def exhibits(self) -> dict[str, list[str]]:
        """The names of the tables and figures to make; by default all of them."""
        return {
            "tables": list(self.TABLES) if self.tables is None else self.tables,
            "figures": list(self.FIGURES) if self.figures is None else self.figures,
        }

    def select_names(self, studied: StudyNames, axes: Mapping[str, str]) -> tuple[dict[str, list[str]], list[str]]:
        """The names under some keys of this section that the study runs, by key; and a line for each key with others.

        `axes` has the axis of each key's names: a field of StudyNames, such as `models`.
        """
        section = next(name for name, cls in load_sections().items() if isinstance(self, cls))
        run: dict[str, list[str]] = {}
        lines: list[str] = []
        for key, axis in axes.items():
            value = getattr(self, key)
            names = [value] if isinstance(value, str) else value or []
            run[key], left_out = studied.select_run(axis, f"analyses.{section}.{key}", names)
            lines += left_out
        return run, lines


def load_sections() -> dict[str, type[Analysis]]:
    """The sections of all analyses, by name."""
    return dict(sorted(load_classes("analyses", Analysis).items()))
