"""Single responses: their tokens, the model's certainty of each, and their labels."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the config's section, by the name of the analysis."""
    from entropy_sentinel.study.analyses.responses.response_settings import Responses

    return {"responses": Responses}
