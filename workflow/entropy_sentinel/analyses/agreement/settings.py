"""What the analysis shows: the config's section `analyses.agreement`."""

from typing import Self

from pydantic import Field, model_validator

from entropy_sentinel.analyses.agreement.catalogue import TABLES
from entropy_sentinel.config.analyses import Analysis, Reads, Studied
from entropy_sentinel.frames.sections import check_names


class Agreement(Analysis):
    """How far two or more judges of run.judges agree. Null is filled in from what is run."""

    PAGE = "agreement/report.html"
    TELLS = "how far the judges agree"
    READS = Reads.SHOWN

    headline_group: str | None = Field(
        None, description="named group of the accuracies and of the summary; null for the first"
    )

    @model_validator(mode="after")
    def _exhibits_are_known(self) -> "Agreement":
        check_names("table", self.tables or [], TABLES)
        check_names("figure", self.figures or [], [])
        return self

    def obstacle(self, studied: Studied) -> str | None:
        """See `Analysis.obstacle`."""
        if len(studied.judges) < 2:
            return f"it compares judges, and run.judges has one, {studied.judges[0]}"
        return None if studied.compared else "every benchmark has a judge of its own (benchmarks.NAME.judge)"

    def fitted(self, studied: Studied) -> tuple[Self, list[str]]:
        """See `Analysis.fitted`."""
        asked = [] if self.headline_group is None else [self.headline_group]
        run, lines = studied.run("groups", "analyses.agreement.headline_group", asked)
        tables = list(TABLES) if self.tables is None else self.tables
        chosen = {"headline_group": (run or studied.groups)[0], "tables": tables, "figures": []}
        return self.model_copy(update=chosen), lines
