"""Features: named Polars expressions over a response's tokens. The verb `es.features` is in `verbs.reading`."""

import sys

from entropy_sentinel import Room

sys.modules[__name__].__class__ = Room
