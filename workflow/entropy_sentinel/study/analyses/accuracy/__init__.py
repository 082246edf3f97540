"""How accurate the estimates are: the tables and figures of the paper."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the config's section, by the name of the analysis."""
    from entropy_sentinel.study.analyses.accuracy.accuracy_settings import Accuracy

    return {"accuracy": Accuracy}
