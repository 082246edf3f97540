"""Slices of production logs, their estimated accuracy, and what of it calls for attention.

`es.monitor(estimator, logs, by=["metadata.route"])` does it all. From the logs up:

    settings    what can be asked: a field for each option of the command, the verb and the workflow
    catalogue   what a row says of a slice; what of it adds up
    inputs      a file as frames of features; what cannot be used is counted by `problems`
    files, excluding, clock     of it: the file, the responses that are not estimated, the times
    sums        what is known of a slice, which adds up; `scoring` makes it of a frame
    collecting  files to the sums of a state; `fitting` says whether any of it is of use
    state       the sums of files that were read before, in an SQLite file (`stored`)
    merging     sums of all files by slice and window
    estimates   a row per slice: accuracy, interval, `flags`; `change` against a reference
    labelled    what a few labels make of the estimates
    recent      the newest windows, the thin ones pooled
    alerts, outputs, metrics, terminal          what is made of the rows; `columns` and `sentences` say it
    running     all of it, one after the other
    page, pictures      the same for a browser

`sampling`, `candidates` and `drawing` choose the responses whose labels say most.
"""

import sys

from entropy_sentinel import Room

sys.modules[__name__].__class__ = Room
