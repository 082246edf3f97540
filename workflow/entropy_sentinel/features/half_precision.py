"""Recognise log-probabilities that were rounded to half precision, and bound what the rounding changes.

Engines and data sets store log-probabilities in bfloat16 or float16. Rounding a log-probability v changes it by at most
|v| u, with u = 2^-9 or 2^-12. So it changes the sum of a step's probabilities by at most about u times the step's
entropy, which is the sum of -p log p.
"""

import numpy as np

# The names of the formats, with their largest relative rounding error u.
HALF = {"bfloat16": 2.0**-9, "float16": 2.0**-12}
# A difference of two numbers near 1 in half precision may be that far above 0.
NEAR_ZERO = 2.0**-8
# Fewer different numbers may fit by chance, such as -0.5 and -1.25.
_FEWEST = 32


def rounding_error(sampled: np.ndarray, top: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The relative rounding error of each response, (n,): an error of HALF, or 0 if it was not rounded.

    `sampled` (T,) and `top` (T, k) are the log-probabilities of all responses in sequence, float32; `lengths` (n,) are
    their numbers of tokens. A response was rounded if all its values can be numbers of the format.
    """
    errors = np.zeros(len(lengths))
    for name, fits in (("bfloat16", _is_bfloat16), ("float16", _is_float16)):
        # The sampled tokens are tested first: they are few, and rule out most responses.
        rounded = (errors == 0) & (lengths > 0) & _all_by_response(fits(sampled), lengths)  # (n,)
        if not rounded.any():
            continue
        steps = np.repeat(rounded, lengths)  # (T,), the tokens of these responses
        fitting = np.zeros(len(sampled), dtype=bool)
        fitting[steps] = fits(top[steps]).all(axis=1)
        rounded &= _all_by_response(fitting, lengths)
        values = top[np.repeat(rounded, lengths)]
        if len(np.unique(values[np.isfinite(values)])) >= _FEWEST:
            errors[rounded] = HALF[name]
    return errors


def find_format(error: float) -> str:
    """The name of the format with this largest relative rounding error, a value of HALF."""
    return next(name for name, rounding in HALF.items() if rounding == error)


def _is_bfloat16(values: np.ndarray) -> np.ndarray:
    """Whether each value is a number of bfloat16: a float32 whose lower half is 0; or is not finite."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    fits: np.ndarray = ((bits & 0xFFFF) == 0) | ~np.isfinite(values)
    return fits


def _is_float16(values: np.ndarray) -> np.ndarray:
    """Whether each value is a number of float16, which it equals after conversion; or is not finite."""
    with np.errstate(over="ignore"):
        fits: np.ndarray = (values == values.astype(np.float16).astype(np.float32)) | ~np.isfinite(values)
    return fits


def _all_by_response(steps: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Whether all steps of each response are true, (n,); true for a response without steps."""
    n_false_before = np.concatenate([[0], np.cumsum(~steps)])
    ends = lengths.cumsum()
    all_true: np.ndarray = n_false_before[ends] == n_false_before[ends - lengths]
    return all_true
