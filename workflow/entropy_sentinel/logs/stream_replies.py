"""Turn the replies of a joiner into responses; a stream that cannot be joined must not lose the others."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple, NoReturn

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.parsed_response import Reply
from entropy_sentinel.logs.partial_reply import PartialReply
from entropy_sentinel.logs.stream_joiner import Joiner

# Returns the responses of a whole reply.
ReadWhole = Callable[[Mapping[str, Any]], Iterable[Reply]]


class BrokenStream(NamedTuple):
    """A stream that cannot be joined, with the place of its first piece."""

    error: Exception
    place: str


def parse_streams(
    streams: Iterable[PartialReply], read_whole: ReadWhole, broken: list[BrokenStream]
) -> Iterator[Reply]:
    """Yield the responses of streams that were closed; add those that cannot be joined to `broken`.

    The errors are raised at the end of the file (`close_streams`), when the other streams were read.
    """
    for stream in streams:
        try:
            replies = list(read_whole(stream.build_reply()))
        except Exception as error:
            broken.append(BrokenStream(error, stream.place))
            continue
        for reply in replies:
            reply.place, reply.record = stream.place, stream.only_record
            if not stream.has_ended or (reply.finish_reason == "unknown" and stream.stream.begin):
                reply.facts = [*reply.facts, "interrupted stream"]
            if stream.stream.key_is_id and stream.stream.key and not reply.item_id:
                reply.facts = [*reply.facts, "stream without an id"]
            yield reply


def close_streams(joiner: Joiner, read_whole: ReadWhole, broken: list[BrokenStream]) -> Iterator[Callable[[], Reply]]:
    """Yield functions that return the responses of streams that the file's end closes, or raise a stream's error.

    They are functions so that the caller counts each error like that of a record, and goes on. `broken` has the streams
    that cannot be joined, to which this adds; it is empty afterwards.
    """
    for reply in parse_streams(joiner.close_all(), read_whole, broken):
        yield partial(_return_reply, reply)
    for stream in broken:
        yield partial(_raise_error, stream)
    broken.clear()


def _return_reply(reply: Reply) -> Reply:
    """The reply itself: a response that was already read."""
    return reply


def _raise_error(stream: BrokenStream) -> NoReturn:
    """Raise the error of a stream; an InputError says where the stream begins."""
    place = f"the stream that begins at {stream.place}: " if stream.place else ""
    if isinstance(stream.error, InputError):
        raise InputError(f"{place}{stream.error}") from None
    raise stream.error
