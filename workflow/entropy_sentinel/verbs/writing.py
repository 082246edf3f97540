"""Features as files for `read_features`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.features.feature_frame import FEATURE_FRAME
from entropy_sentinel.features.missing_mass import missing_mass
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.files import check_outputs
from entropy_sentinel.frames.generation import LOGPROBS


def write_features(
    features: pl.DataFrame,
    path: str | Path,
    facts: Mapping[str, Any] | None = None,
    split: bool = False,
    inputs: Sequence[str | Path] = (),
) -> list[Path]:
    """Write features, with the columns LOGPROBS and further `facts` about them, to a file for `read_features`.

    With `split` each kind of log-probabilities gets a file of its own, `NAME-top5.parquet`; without, InputError for
    several: they do not compare; and where one of the files is among `inputs`, those that were read. Returns the files.
    """
    usable = features.filter(pl.col("reason").is_null())
    kinds = (usable if len(usable) else features).group_by(LOGPROBS, maintain_order=True).len().rows() or [
        (None, None, 0)
    ]
    if len(kinds) > 1 and not split:
        several = "; ".join(f"{count:,} responses with {_words(kind)}" for *kind, count in kinds)
        raise InputError(
            f"features: {' and '.join(LOGPROBS)} must be the same in all rows, there are {several}; {_remedy(kinds)}"
        )
    targets: dict[str, Path] = {}
    for *kind, _ in kinds:
        suffix = f"-top{kind[LOGPROBS.index('top_k_returned')]}" if len(kinds) > 1 else ""
        targets[f"output of {_words(kind)}"] = Path(path).with_stem(f"{Path(path).stem}{suffix}")
    check_outputs(targets, inputs)
    for number, ((*kind, _), target) in enumerate(zip(kinds, targets.values(), strict=True)):
        origin = dict(zip(LOGPROBS, kind, strict=True))
        same = pl.all_horizontal(pl.col(name).eq_missing(value) for name, value in origin.items())
        # Responses without features go with the first.
        rows = features.filter(same | (pl.col("reason").is_not_null() & (number == 0)))
        known = {**(facts or {}), **origin, "missing_mass": missing_mass(rows)}
        FEATURE_FRAME.write(rows.drop(LOGPROBS), target, known)
    return [*targets.values()]


def _words(kind: Sequence[Any]) -> str:
    mode, top_k = kind
    return f"{top_k} alternatives to a token ({mode})"


def _remedy(kinds: Sequence[Sequence[Any]]) -> str:
    """What to do about responses of several kinds."""
    widths = sorted({width for kind in kinds if (width := kind[LOGPROBS.index("top_k_returned")])})
    if len(widths) < 2:
        return f"take one kind, as --where logprobs_mode={kinds[0][0]}, or write a file for each (--split)"
    return (
        f"cut all to the smallest number of alternatives (--top-k {widths[0]}), take one kind, as --where "
        f"top_k_returned={widths[-1]}, or write a file for each (--split)"
    )
