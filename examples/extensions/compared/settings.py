"""What the analysis compares: the config's section `analyses.compared`."""

from typing import Annotated, Self

from pydantic import Field

from entropy_sentinel.core.analysis import Analysis, Reads, StudyNames
from entropy_sentinel.core.section_base import DISTINCT, Name


class Compared(Analysis):
    """Two models by benchmark: true and estimated accuracies, and their differences. Null is filled in from the run."""

    PAGE = "{judge}/compared/report.html"
    TELLS = "how two models compare"
    READS = Reads.SHOWN

    models: Annotated[list[Name], Field(min_length=2, max_length=2), DISTINCT] | None = Field(
        None, description="the two models; differences are the first minus the second. Null for the first two that run"
    )
    group: str | None = Field(None, description="named group that the estimates are trained on; null for the first")
    estimator: str | None = Field(
        None, description="estimator, a name of estimation.estimators; null for the group's own"
    )

    def obstacle(self, studied: StudyNames) -> str | None:
        """See `Analysis.obstacle`."""
        run, _ = studied.select_run("models", "analyses.compared.models", self.models or studied.models)
        key = "analyses.compared.models" if self.models else "run.models"
        return f"it compares two models, but of {key} only {run or 'none'} is run" if len(run) < 2 else None

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """See `Analysis.fitted`."""
        named, lines = self.select_names(studied, {"group": "groups", "estimator": "estimated"})
        chosen = {
            "models": self.models or studied.models[:2],
            "group": (named["group"] or studied.groups)[0],
            "estimator": next(iter(named["estimator"]), None),
        }
        return self.model_copy(update=chosen), lines
