"""Read LiteLLM's StandardLoggingPayload, from its callbacks and its S3, GCS and generic API loggers, and spend logs.

A stream is logged as the whole reply. Calls other than completions (embeddings, images) are skipped; failed calls are
refused requests. Of the metadata about the sender, only the names of key and team become columns. Hashes of keys and
addresses of people become columns only if the user names these columns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.logs.openai_format import make_error_reply, parse_responses
from entropy_sentinel.logs.parsed_response import NotAResponse, Reply
from entropy_sentinel.logs.reader_base import Reader, collect_columns, collect_request_columns, parse_time_column
from entropy_sentinel.logs.value_paths import parse_json

_CALL_FIELDS = (
    "call_type",
    "model_group",
    "custom_llm_provider",
    "end_user",
    "request_tags",
    "cache_hit",
    "session_id",
)
_SENDER_FIELDS = ("user_api_key_alias", "user_api_key_team_alias")
_CLIENT_METADATA = ("requester_metadata", "spend_logs_metadata")
_COMPLETION_CALLS = ("completion", "responses", "generate_content", "messages")


class LiteLLMReader(Reader):
    """Reads one call per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of the call."""
        payload = record.get("standard_logging_object") or record
        call = str(payload.get("call_type") or "")
        if not any(kind in call for kind in _COMPLETION_CALLS):
            raise NotAResponse(f"calls of {call or 'no type'}")
        if payload.get("status") == "failure":
            error = payload.get("error_str") or (payload.get("error_information") or {}).get("error_message")
            responses = [make_error_reply(error, {})]
            reply_columns = dict[str, Any]()
        else:
            responses, reply_columns = parse_responses(payload.get("response") or None)
        columns = self.columns(payload, reply_columns | _build_columns(payload))
        for reply in responses:
            reply.item_id = reply.reply_id = payload.get("id") or payload.get("request_id")
            reply.model = payload.get("model")
            reply.columns = columns
            yield reply


def _build_columns(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a call: its fields, the client's metadata, the request's settings, the sender and the time."""
    metadata = payload.get("metadata") or {}
    metadata = (parse_json(metadata) if isinstance(metadata, str) else metadata) or {}
    start = payload.get("startTime")
    fields = {name: payload[name] for name in _CALL_FIELDS if name in payload}
    client_metadata: dict[str, Any] = {}
    for part in _CLIENT_METADATA:
        client_metadata = {**client_metadata, **(metadata.get(part) or {})}
    sender_columns = {}
    for name in _SENDER_FIELDS:
        if metadata.get(name):
            sender_columns[name.removeprefix("user_api_")] = metadata[name]
    return (
        collect_request_columns(payload.get("model_parameters"))
        | collect_columns(fields | {"metadata": client_metadata})
        | sender_columns
        | parse_time_column(start)
    )
