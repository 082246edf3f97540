"""Output and error files of OpenAI's batch API, and of vLLM's `run-batch`: `custom_id`, `response.body`, `error`."""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.sources.logs import bodies, openai_replies, reader
from entropy_sentinel.sources.logs.reply import Reply


class Reader(reader.Reader):
    """One request per record, known by its `custom_id`."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """The responses to the request; one with an error is refused."""
        answered = record.get("response") or {}
        error = record.get("error") or ({} if answered.get("body") else {"message": "no response"})
        if error:
            found, facts = [openai_replies.error_reply(error, {})], dict[str, Any]()
        else:
            found, facts = bodies.responses(answered["body"])
        columns = self.columns(record, facts)
        for one in found:
            one.item_id, one.columns = record["custom_id"], columns
            yield one
