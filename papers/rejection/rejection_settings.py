"""Settings of the analysis: the config's section `analyses.rejection`."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from entropy_sentinel.core.analysis import Analysis, StudyNames
from entropy_sentinel.core.section_base import DISTINCT, Names, Number, Whole, check_names
from entropy_sentinel.estimators.estimator_registry import ESTIMATORS
from entropy_sentinel.estimators.estimator_settings import OWN
from entropy_sentinel.rendering.exhibit_declarations import list_titles
from papers.rejection import rejection_exhibits

_Accuracy = Annotated[Number, Field(gt=0, le=1)]


class Rejection(Analysis):
    """Which responses can be kept at a required accuracy, by every kept estimator that gives P(correct).

    It also has an assessor that sees only the question. It needs a named group; null is filled in from what is run.
    """

    PAGE = "{judge}/rejection/report.html"
    TELLS = "which responses can be kept at a wanted accuracy"
    TABLES, FIGURES = list_titles(rejection_exhibits.TABLES), list_titles(rejection_exhibits.FIGURES)

    judges: Names | None = Field(None, description="judges whose labels get all this; null for all that are run")
    groups: Names | None = Field(None, description="named training groups to show; null for all that are run")
    headline_group: str | None = Field(
        None, description="named group that figures, table of coverages and summary show; null for the first"
    )
    estimators: Annotated[list[str], DISTINCT] | None = Field(
        None, description="estimators of estimation.keep to show; null for all that give P(correct)"
    )
    accuracies: Annotated[list[_Accuracy], DISTINCT, AfterValidator(sorted)] = Field(
        [0.8, 0.9, 0.95], min_length=1, max_length=10, description="required accuracies of the kept responses"
    )
    best: Whole = Field(3, ge=1, le=100, description="number of pairs of model and assessor to rank")
    resamples: Whole = Field(10_000, ge=10, le=100_000, description="bootstrap samples per interval")

    @model_validator(mode="after")
    def _check_estimators(self) -> "Rejection":
        """Refuse an unknown name in `estimators`."""
        check_names("estimator in estimators:", self.estimators or [], [OWN, *ESTIMATORS])
        return self

    def obstacle(self, studied: StudyNames) -> str | None:
        """Why the analysis is impossible with what is run; None if it is possible (`Analysis.obstacle`)."""
        if self._list_named_groups(studied):
            return None
        return "no named group is run, and only named groups keep estimators"

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        axis_by_field = {"judges": "judges", "groups": "groups", "headline_group": "groups", "estimators": "kept"}
        names_by_field, lines = self.select_names(studied, axis_by_field)
        named_groups = self._list_named_groups(studied)
        headline_groups = names_by_field["headline_group"]  # at most one
        group_names = [*(names_by_field["groups"] or named_groups), *headline_groups]
        groups = [name for name in named_groups if name in group_names]
        chosen = {
            "judges": names_by_field["judges"] or studied.judges,
            "groups": groups,
            "headline_group": (headline_groups or groups)[0],
            "estimators": names_by_field["estimators"] or studied.kept,
            **self.exhibits(),
        }
        return self.model_copy(update=chosen), lines

    def _list_named_groups(self, studied: StudyNames) -> list[str]:
        """The training groups that are run and have a name in the config, unlike those of a sweep such as `a+b`."""
        return [name for name in studied.groups if name in studied.names_by_axis["groups"]]
