"""Requests and replies of an OpenAI-compatible server, side by side: `request`, `response`, and what else was logged.

Both may be JSON as text. An id of the log itself goes before the reply's own.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.sources.logs import bodies, columns, reader
from entropy_sentinel.sources.logs.reply import Reply

# Names of the log's own id, the first that is there.
IDS = ("item_id", "prompt_id", "custom_id", "request_id", "id")


class Reader(reader.Reader):
    """One exchange per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """The responses to the request."""
        request = bodies.parsed(record["request"])
        request = request.get("body", request) if isinstance(request, Mapping) else {}
        response = bodies.parsed(record["response"])
        # A log of HTTP has the body below the status.
        wrapped = isinstance(response, Mapping) and "body" in response and "choices" not in response
        found, facts = bodies.responses(response["body"] if wrapped else response)
        named = next((name for name in IDS if record.get(name) is not None), None)
        own = columns.usual(record, leave_out=("request", "response", *([named] if named else ())))
        kept = self.columns({**record, "request": request}, facts | columns.of_request(request) | own)
        for one in found:
            one.item_id = record[named] if named else one.item_id
            one.model, one.columns = one.model or request.get("model"), kept
            seed = request.get("seed")
            one.seed = seed if type(seed) is int and 0 <= seed < 2**63 else -1
            yield one
