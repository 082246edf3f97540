"""A column of the monitor's rows, and a statistic of a slice, which has one."""

from dataclasses import dataclass

import polars as pl

from entropy_sentinel.core.code_base import ExtensionCode
from entropy_sentinel.monitor.alert_codes import AlertCode, AlertKind, Flag, FlagCode


@dataclass(frozen=True)
class SliceColumn:
    """A column of the rows; `metric` is its name in the metrics file, empty if the file omits it."""

    name: str
    meaning: str
    unit: str
    metric: str = ""


@dataclass(frozen=True, kw_only=True)
class Statistic(SliceColumn):
    """A sum over a slice's responses.

    Attributes:
        each: The value of a response: true, false or a number; null counts as 0. It is an expression over the columns
            of feature files (`features/feature_registry.py`); `excluded`, the reason why a response is not estimated,
            or null; `overridden`, whether it is estimated although its model or log-probabilities differ; `same_model`,
            whether its model's name counts as that of the estimator's; the columns of traces
            (`schemas/generation_schema.py`), null for feature files; and other columns of logs by their dotted names,
            as text, null if missing. If values may be unknown, count the known values in another statistic and name
            that statistic in `of`.
        of: The statistic that is the denominator of a share: responses that do not count there do not count here, and
            rows have the ratio of the two sums. Empty for a count or another sum; only counts (`n_...`) are integers.
        heading: The heading in tables; empty if tables omit the statistic.
        form: The format in tables.
        flag: The flag of slices where the statistic is more than 0.1; empty if it has no flag.
        flagged: The end of the flag's reason, which begins with a share: "12 % of the responses ...".
        absent_is_zero: Whether the sum is 0 in states that lack it; otherwise it is unknown there.
        version: Increase it when `each` changes; the sums in existing states then become unknown.
    """

    each: pl.Expr
    of: str = ""
    heading: str = ""
    form: str = ".1%"
    flag: str = ""
    flagged: str = ""
    absent_is_zero: bool = False
    version: int = 1

    @property
    def alert(self) -> str:
        """The name of the statistic's flag in `alert_on`."""
        return self.flag.replace(" ", "-")

    @property
    def flag_code(self) -> FlagCode:
        """The code of the statistic's flag."""
        if self.flag == Flag.TRUNCATED.words:
            return Flag.TRUNCATED
        return ExtensionCode(self.alert, self.flag, self._code_meaning)

    @property
    def alert_code(self) -> AlertCode:
        """The kind of the alerts about the statistic's flag."""
        if self.flag == Flag.TRUNCATED.words:
            return AlertKind.TRUNCATED
        return ExtensionCode(self.alert, self.alert, self._code_meaning)

    @property
    def _code_meaning(self) -> str:
        return f"More than a tenth of the slice's responses {self.flagged}."

    @property
    def kept_as(self) -> str:
        """The name of the statistic's sums in a state."""
        return f"n_{self.name.removesuffix('_share')}" if self.name.endswith("_share") else self.name
