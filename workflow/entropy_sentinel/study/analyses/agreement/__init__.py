"""Agreement of a study's judges, and how their differences affect its estimates."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.core.analysis import Analysis


def analyses() -> "dict[str, type[Analysis]]":
    """The class of the config's section, by the name of the analysis."""
    from entropy_sentinel.study.analyses.agreement.agreement_settings import Agreement

    return {"agreement": Agreement}
