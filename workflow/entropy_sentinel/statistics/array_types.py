"""Types of arguments for functions that take numbers."""

from collections.abc import Sequence

import numpy as np
import polars as pl

# A one-dimensional sequence of numbers or booleans, (n,).
Numbers = Sequence[float] | np.ndarray | pl.Series
# A one-dimensional sequence of names, (n,), such as the domain of each response.
Names = Sequence[str] | np.ndarray | pl.Series
