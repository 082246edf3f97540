"""The reference answer that a record has beside its response, such as the target of an evaluation's sample."""

from collections.abc import Mapping
from typing import Any

from entropy_sentinel.logs.parsed_response import to_scalar
from entropy_sentinel.logs.value_paths import look_up

# The name under which `columns` requests the reference answer. No column of a log has it.
REFERENCE = "(reference)"
# The fields that may have it, the first that does counts: of a record, of its metadata, of its request's metadata.
REFERENCE_FIELDS = (
    *("reference", "reference_answer", "target", "expected", "expected_answer", "expected_output"),
    "ground_truth",
)
_PLACES = ("", "metadata.", "request.metadata.")


def find_reference(record: Mapping[str, Any], usual: Mapping[str, Any]) -> str | None:
    """The reference answer of a record with these `usual` columns; None without one."""
    for name in REFERENCE_FIELDS:
        for place in _PLACES:
            path = f"{place}{name}"
            value = usual[path] if path in usual else to_scalar(look_up(record, path))
            if value is not None and not isinstance(value, bool) and (text := str(value).strip()):
                return text
    return None
