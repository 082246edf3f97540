"""How the entropy area score (Zhu et al., 2025) relates to the variety of a model's answers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the analysis' config section, by the name of the analysis."""
    from papers.entropy_area.area_settings import EntropyArea

    return {"entropy_area": EntropyArea}
