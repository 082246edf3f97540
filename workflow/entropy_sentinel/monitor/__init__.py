"""Estimate the accuracy of slices of production logs, and raise alerts.

A log line becomes an alert in six steps. `running` calls every step, and `settings` has the options:

    reading     `inputs` prepares frames of features; `problems` has records of what was unusable; `times`, `identity`
    summing     `log_pass` reads each log once, and `file_reading` adds its responses to the `sums` of the slices of
                their model, which a `state` keeps; `merging` adds up all files
    estimating  `estimates` makes a row for each slice, with its `change` and `flags`
    alerting    `drops`, `row_episodes` and `unwatched` find episodes; `alerts` decides which alerts this run reports
    labelling   `sampling` chooses responses, `to_label` writes their file; `labelled` improves estimates with labels
    showing     the `result` on a terminal, as a page with pictures, and as files; `catalogue` lists these outputs

`codes` has the codes of flags, alerts and notes; `episodes`, `alert` and `alert_history` are the records of an alert.
`watched_models` has the models of a run, each with its own estimator; `result_stacking` makes one result. `catalogue`
has the columns of a row and the statistics of a slice. `once` has `estimate` and `score`, without a state.

May be imported by: `cli`, and not by `study`, whose rooms do without the monitor.
"""

import sys
from typing import TYPE_CHECKING

from entropy_sentinel import Room

if TYPE_CHECKING:
    from entropy_sentinel.monitor.column_declaration import Statistic

sys.modules[__name__].__class__ = Room


def statistics() -> "dict[str, Statistic]":
    """This package's statistics of a slice."""
    from entropy_sentinel.monitor.slice_statistics import STATISTICS

    return STATISTICS
