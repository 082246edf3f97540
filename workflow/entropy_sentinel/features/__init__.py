"""Floor 1: a feature is a named Polars expression over a response's tokens. `es.features(traces)` computes them."""

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """A notebook's verb has the name of this room, so the room can be called."""

    def __call__(self, traces: Any, vocabulary: int | None = None) -> Any:
        """The features of every response, see `features.compute.compute_features`."""
        from entropy_sentinel.features.compute import compute_features

        return compute_features(traces, vocabulary)


sys.modules[__name__].__class__ = _Room
