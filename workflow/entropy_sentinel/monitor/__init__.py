"""Slices of production logs, their estimated accuracy, and what of it calls for attention.

A line of a log becomes an alert in this order; `running` does it all, `settings` says what can be asked for:

    reading     `inputs` makes frames of features; `problems` counts what cannot be used, `times` and `identity` help
    summing     `collecting` adds them to the `sums` of a slice, which a `state` keeps; `merging` adds all files up
    estimating  `estimates`: a row for each slice, with its `change`; `alerts`: flags, and the rows that need somebody
    labelling   `sampling` chooses responses, `to_label` is their file; `labelled` improves the estimates by the labels
    showing     the `result` at a terminal, as a page with pictures, as files; `catalogue` lists these outputs

`catalogue` has the columns of a row and the statistics that add up. `once` is `estimate` and `score`, without a state.
"""

import sys

from entropy_sentinel import Room

sys.modules[__name__].__class__ = Room
