"""Types of the fields of an estimator's file. Pydantic checks them when a file is read, not when code sets them.

An estimator may return what its file may not have; saving it is then an error, and fitting it is not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, GetCoreSchemaHandler, Strict
from pydantic_core import CoreSchema, core_schema

# Far more than anyone labels; a validation of so many takes ten seconds.
MOST_DOMAINS = 5000
# Larger numbers are not counts of responses; their sums would overflow.
_MOST = 10**12
FiniteNumber = Annotated[float, Strict()]
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
Whole = Annotated[int, Strict(), Field(ge=0, le=_MOST)]
Count = Annotated[int, Strict(), Field(ge=1, le=_MOST)]
Weight = Annotated[float, Strict(), Field(ge=0)]

EXACT_FIELDS = ConfigDict(extra="forbid", allow_inf_nan=False)
# For parts whose files also have, for people, what follows from the fields.
NAMED_FIELDS = ConfigDict(extra="ignore", allow_inf_nan=False)


@dataclass(frozen=True)
class ArrayOf:
    """Annotates an array: a file has `lists` of numbers, which are checked and become an array of type `dtype`."""

    lists: Any
    dtype: type

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(self._convert, handler.generate_schema(self.lists))

    def _convert(self, value: Any, validate: Callable[[Any], Any]) -> np.ndarray:
        return value if isinstance(value, np.ndarray) else np.array(validate(value), dtype=self.dtype)
