"""Floor 1: a feature is a named Polars expression over a response's tokens. `es.features(traces)` computes them."""

import sys
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


def features(traces: Any, vocabulary: int | None = None, signals: Sequence[str] = ()) -> Any:
    """The features of every response.

    All features of a response are null, and `reason` says why, where it has no log-probabilities, where it is empty, or
    where its trace cannot be one of probabilities: a NaN, a positive log-probability, a step that adds up to more than
    1, a sampled token above the most likely one, a step without any likely token, steps of equal entries alone, a mean
    likelihood that no sampler draws.

    Args:
        traces: What `read_logs` gives; or replies in memory, as for `read_logs`. The entropy is over as many tokens as
            a step of them has.
        vocabulary: The number of all tokens of the model, which gives the bound on what the entropy lacks.
        signals: Names of signals of other families to add: of a column of the name, or else computed where that takes a
            response's traces alone, or else null.

    Returns:
        A frame with one row per response: the columns of FEATURE_FRAME, and those that `traces` has beside GENERATIONS,
        of the log-probabilities and of a log.

    Raises:
        InputError: For a column that is missing or of another type, and where the two traces of a response do not have
            `n_tokens` steps each.

    Examples:
        >>> import entropy_sentinel as es
        >>> import polars as pl
        >>> es.features(es.read_logs(es.example().traces)).select("item_id", pl.col("max").round(3)).row(0)
        ('gsm8k-00000', ...)
    """
    from entropy_sentinel.features.compute import compute_features, is_traces

    if not is_traces(traces):
        # By name: the code of a stage is what it imports, and no stage computes features of replies.
        traces = import_module("entropy_sentinel.sources.logs.reading").of_replies(traces)
    found = compute_features(traces, vocabulary)
    if not signals:
        return found
    return import_module("entropy_sentinel.signals.computing").with_signals(found, traces, signals)


class _Room(ModuleType):
    """A notebook's verb has the name of this room, so the room can be called."""

    def __call__(self, traces: Any, vocabulary: int | None = None, signals: Sequence[str] = ()) -> Any:
        """The features of every response, see `features.features`."""
        return features(traces, vocabulary, signals)


sys.modules[__name__].__class__ = _Room
