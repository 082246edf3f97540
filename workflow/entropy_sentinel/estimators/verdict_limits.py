"""What the verdict `usable` means."""

from typing import Annotated

from pydantic import Field

from entropy_sentinel.core.option_classes import CliOption, Options, Panel
from entropy_sentinel.core.section_base import Number

CONFIDENCE = 0.9
# The paper's median mean error is .10 (AEE of Tables 2 and 7). Normal errors with this mean exceed .25 in 4.6 % of
# domains.
USABLE_ERROR, FAR_OFF, USABLE_SHARE = 0.10, 0.25, 0.05


class Limits(Options):
    """What `usable` means. The defaults are for teams without needs of their own."""

    usable_error: Annotated[Number, CliOption(Panel.VERDICT, "SHARE")] = Field(
        USABLE_ERROR, gt=0, lt=1, description="Largest mean error on new domains of a usable estimator."
    )
    far_off: Annotated[Number, CliOption(Panel.VERDICT, "SHARE")] = Field(
        FAR_OFF,
        gt=0,
        lt=1,
        description=f"An estimator is not usable if more than {USABLE_SHARE:.0%} of new domains have a larger error.",
    )
    confidence: Annotated[Number, CliOption(Panel.VERDICT, "SHARE")] = Field(
        CONFIDENCE, ge=0.5, lt=1, description="Probability that the verdict `usable` needs, for each of these limits."
    )


DEFAULT = Limits()
