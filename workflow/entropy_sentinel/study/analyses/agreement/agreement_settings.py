"""Settings of the analysis: the config's section `analyses.agreement`."""

from typing import Self

from pydantic import Field

from entropy_sentinel.core.analysis import Analysis, Reads, StudyNames
from entropy_sentinel.rendering.exhibit_declarations import list_titles
from entropy_sentinel.study.analyses.agreement.agreement_exhibits import TABLES


class Agreement(Analysis):
    """How far two or more judges of run.judges agree. Null is filled in from what is run."""

    PAGE = "agreement/report.html"
    TELLS = "how far the judges agree"
    READS = Reads.SHOWN
    TABLES = list_titles(TABLES)

    headline_group: str | None = Field(
        None, description="named group of the accuracies and of the summary; null for the first"
    )

    def obstacle(self, studied: StudyNames) -> str | None:
        """Why the analysis is impossible with what is run; None if it is possible (`Analysis.obstacle`)."""
        if len(studied.judges) < 2:
            return f"it compares judges, but run.judges has only one, {studied.judges[0]}"
        # Benchmarks that all judges label.
        return None if studied.compared else "every benchmark has its own judge (benchmarks.NAME.judge)"

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        names, lines = self.select_names(studied, {"headline_group": "groups"})
        chosen = {"headline_group": (names["headline_group"] or studied.groups)[0], **self.exhibits()}
        return self.model_copy(update=chosen), lines
