"""Which responses are shown, and how much of them: the config's section `analyses.responses`."""

from typing import Self

from pydantic import Field

from entropy_sentinel.core.analysis import Analysis, StudyNames
from entropy_sentinel.core.section_base import Names, Whole


class Responses(Analysis):
    """Single responses of each benchmark, token by token, a page per model.

    The most and least certain, those that are wrong but certain and those that are right but uncertain. The numbers
    bound the size of a page: with the defaults, about 3 MB.
    """

    PAGE = "{judge}/responses/{model}.html"
    TELLS = "single responses, token by token"

    judges: Names | None = Field(None, description="judges whose labels get pages; null for all that are run")
    group: str | None = Field(
        None,
        description="named group whose estimator gives P(correct), if it is kept; null for the first of run.groups",
    )
    per_kind: Whole = Field(
        1, ge=1, le=20, description="responses of each kind and benchmark, such as wrong but certain"
    )
    most_tokens: Whole = Field(
        400, ge=10, le=10_000, description="number of tokens shown per response; the middle of a longer one is left out"
    )
    alternatives: Whole = Field(
        5,
        ge=0,
        le=20,
        description="number of most likely tokens shown for each token; their texts are known if "
        "generation.keep_top_tokens or generation.keep_top_token_ids is set",
    )

    def fitted(self, studied: StudyNames) -> tuple[Self, list[str]]:
        """The section with defaults from what is run, and a line for each name left out (`Analysis.fitted`)."""
        names, lines = self.select_names(studied, {"group": "groups", "judges": "judges"})
        group = next(iter(names["group"] or studied.groups), None)
        return self.model_copy(update={"group": group, "judges": names["judges"] or studied.judges}), lines
