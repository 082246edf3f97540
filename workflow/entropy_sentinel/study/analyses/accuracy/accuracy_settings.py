"""Settings of the analysis: the config's section `analyses.accuracy`."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from entropy_sentinel.core.analysis import Analysis, Reads, StageFiles, StudyNames
from entropy_sentinel.core.section_base import Names, Whole
from entropy_sentinel.rendering.exhibit_declarations import list_titles
from entropy_sentinel.study.analyses.accuracy import accuracy_exhibits

# Models and benchmarks in the paper's Table 1; further models go to Table 6, further benchmarks are not shown.
_SIDE_BY_SIDE = 3


class Accuracy(Analysis):
    """How accurate each domain is: the tables and figures of the paper. Null is filled in from what is run."""

    PAGE = "{judge}/report.html"
    TELLS = "how accurate each domain is"
    READS = Reads.ALL
    TABLES, FIGURES = list_titles(accuracy_exhibits.TABLES), list_titles(accuracy_exhibits.FIGURES)
    STAGES: ClassVar[Mapping[str, StageFiles]] = {
        "sweep": StageFiles("{judge}/sweep.parquet", ("estimates",), gathers={"model": "model", "group": "group_id"}),
        "report": StageFiles(PAGE, ("benchmarks", "generations", "observations", "sweep")),
    }
    ELSEWHERE: ClassVar[Mapping[str, str]] = {"label": "is now labels, by study: {my-study: text}"}

    judges: Names | None = Field(
        None,
        description="judges whose labels get the full analysis, with all training groups; null for all run.judges. The "
        "analysis `agreement` still compares the others with them, for the named groups",
    )
    auroc_models: Names | None = Field(
        None, description="models of Table 1 (Table 6 has the others); null for the first three"
    )
    auroc_benchmarks: Names | None = Field(
        None, description="benchmarks of Tables 1 and 6; null for the first three with references"
    )
    figure_model: str | None = Field(None, description="model of Figures 1 and 2; null for the first")
    figure_benchmark: str | None = Field(None, description="benchmark of Figure 2; null for the first with references")
    headline_group: str | None = Field(
        None,
        description="named group of Figures 1 and 3 and of the closing summary; null for the first of run.groups, "
        "or, if that is empty, the first training group",
    )

    main_groups: Names | None = Field(
        None,
        description="named groups of Table 2, in this order; Table 7 has the others. Null for all, also if none of "
        "these is run",
    )
    style: Literal["full", "paper"] = Field(
        "full",
        description="full, or paper, which also writes the paper's tables and figures in its own form, for LaTeX with "
        "one or two columns, to results/<study>/<judge>/paper/, with the titles of models and benchmarks. A change "
        "reruns nothing else",
    )
    repeats: Whole = Field(
        1,
        ge=1,
        le=1000,
        description="fit the named groups' estimators with this many seeds, beginning with the study's; a table shows "
        "how much the seed changes the errors; 1 fits them once",
    )

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        # The values are attributes of StudyNames: fields of the first dict default to the first three of these names,
        # those of the second to all, those of the third to the first one.
        axis_by_limited_field = {"auroc_models": "models", "auroc_benchmarks": "labelled"}
        axis_by_list_field = {"judges": "judges", "main_groups": "groups"}
        axis_by_name_field = {"figure_model": "models", "figure_benchmark": "labelled", "headline_group": "groups"}
        names_by_field, lines = self.select_names(
            studied, {**axis_by_list_field, **axis_by_limited_field, **axis_by_name_field}
        )
        chosen: dict[str, Any] = {}
        for field, axis in axis_by_list_field.items():
            chosen[field] = names_by_field[field] or getattr(studied, axis)
        for field, axis in axis_by_limited_field.items():
            chosen[field] = names_by_field[field] or getattr(studied, axis)[:_SIDE_BY_SIDE]
        for field, axis in axis_by_name_field.items():
            chosen[field] = (names_by_field[field] or getattr(studied, axis))[0]
        return self.model_copy(update=chosen | self.exhibits()), lines
