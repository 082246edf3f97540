"""Labelling the responses of a sample in a browser."""

from pathlib import Path

from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.files import write_whole
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.monitor.labelling.sampling import Sample
from entropy_sentinel.report.labelling import labelling_page
from entropy_sentinel.verbs.frames import WEIGHT

# What `read_labels` takes for an answer; of those that a person is unsure about there is no label.
_SAVED = {"correct": "true", "incorrect": "false"}


def write_page(found: Sample, path: str | Path) -> None:
    """Write the page; what it saves are labels for `monitor`, with the weights. It does not say what is estimated.

    InputError where the responses have no texts, being read from features.
    """
    rows = found.responses
    if rows["response"].null_count() == len(rows):
        raise InputError("--html: the responses have no texts, as they were read from features; give logs or traces")
    keys = [name for name in RESPONSE if name in rows.columns]
    content = labelling_page(
        "Responses to label",
        rows.select(*keys, WEIGHT, "question", "response").to_dicts(),
        keys,
        [*keys, WEIGHT, "label"],
        [None] * len(rows),
        _SAVED,
        "labelled.csv",
        "entropy-sentinel monitor --labels FILE",
        shielded=True,
    )
    write_whole(path, content)
