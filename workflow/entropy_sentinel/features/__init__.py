"""Floor 1: a feature is a named Polars expression over a response's tokens. `es.features(traces)` computes them."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A notebook's verb has the name of this room, so the room can be called."""

    def __call__(self, traces: Any, vocabulary: int | None = None) -> Any:
        """The features of every response, see `features.compute.compute_features`.

        `traces` are what `read_logs` gives, or replies in memory, which it is given then.
        """
        from entropy_sentinel.features.compute import compute_features, is_traces

        if not is_traces(traces):
            # By name: the code of a stage is what it imports, and no stage computes features of replies.
            traces = import_module("entropy_sentinel.sources.logs.reading").of_replies(traces)
        return compute_features(traces, vocabulary)


sys.modules[__name__].__class__ = _Room
