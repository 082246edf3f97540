"""An analysis that compares two models of a study on the items that both have answered."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The analysis."""
    from compared.settings import Compared

    return {"compared": Compared}
