"""Estimate the accuracy of slices of production logs, and raise alerts.

A log line becomes an alert in six steps. `monitor_run` calls every step, and `monitor_options` has the options:

    reading     `feature_stream` prepares frames of features; `problem_collection` records what was unusable;
                `window_times` finds the windows, and `deduplication` the responses that were read before
    summing     `log_pass` reads each log once, and `file_reading` adds its responses to the sums of the slices of
                their model (`slice_sums`), which `monitor_state` keeps; `sum_merging` adds up all files
    estimating  `slice_rows` makes a row for each slice, with its change (`change_test`) and its `flags`
    alerting    `drop_alerts`, `slice_episodes` and `unwatched_episodes` find episodes; `alert_reporting` decides which
                alerts this run reports
    labelling   `neyman_sampling` and `cold_start_sampling` choose responses, and `label_sheet` writes their file;
                `label_corrected_estimates` improves estimates with labels
    showing     the result on a terminal, as a page with pictures, and as files; `output_registry` lists these outputs

`alert_codes` has the codes of flags, alerts and notes; `episodes`, `alert` and `alert_history` are the records of an
alert. `watched_models` has the models of a run, each with its own estimator; `result_stacking` makes one result.
`slice_columns` has the columns of a row, and `slice_statistics` the statistics of a slice. `batch` has `estimate` and
`response_scores` has `score`, without a state.

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
