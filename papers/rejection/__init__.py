"""Which responses to keep for a wanted accuracy, with every P(correct) as an assessor (PredictaBoard, 2025)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the analysis' config section, by the name of the analysis."""
    from papers.rejection.rejection_settings import Rejection

    return {"rejection": Rejection}
