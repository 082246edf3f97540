"""A feature is a named Polars expression over a response's tokens. `es.features` is the verb in `verbs.reading`."""

import sys

from entropy_sentinel import Room

sys.modules[__name__].__class__ = Room
