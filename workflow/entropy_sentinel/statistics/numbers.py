"""Types of arguments for functions that take numbers."""

from collections.abc import Sequence

import numpy as np
import polars as pl

# Numbers in a row, (n,), truth values among them, whatever holds them.
Numbers = Sequence[float] | np.ndarray | pl.Series
# Names in a row, such as the domain of each response.
Names = Sequence[str] | np.ndarray | pl.Series
