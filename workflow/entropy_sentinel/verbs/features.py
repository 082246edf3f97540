"""The verb `features`: the features of every response, of traces or of replies in memory."""

from collections.abc import Sequence
from typing import Any

from entropy_sentinel.features.compute import compute_features, is_traces
from entropy_sentinel.signals.computing import with_signals
from entropy_sentinel.sources.logs.reading import of_replies


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
    if not is_traces(traces):
        traces = of_replies(traces)
    found = compute_features(traces, vocabulary)
    if not signals:
        return found
    return with_signals(found, traces, signals)
