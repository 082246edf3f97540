"""A judge behind a web service with a protocol of its own."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.judges.judge_base import Kind


def judges() -> "dict[str, type[Kind]]":
    """The kind of judge."""
    from web_judge.settings import Web

    return {"web": Web}
