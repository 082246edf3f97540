"""Features: named Polars expressions over a response's tokens. The verb `es.features` is in `api.response_reading`.

A feature is declared with name, title, meaning and unit (`feature`); `compute` adds them to a frame of tokens.
May be imported by: `logs`, `signal_families` and every room above.
"""

import sys
from typing import TYPE_CHECKING

from entropy_sentinel import Room

if TYPE_CHECKING:
    from entropy_sentinel.features.feature_declaration import Feature

sys.modules[__name__].__class__ = Room


def features() -> "dict[str, Feature]":
    """The built-in features by name."""
    from entropy_sentinel.features.paper_features import FEATURES

    return FEATURES
