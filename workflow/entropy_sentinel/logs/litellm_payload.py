"""Read LiteLLM's StandardLoggingPayload, from its callbacks and its S3, GCS and generic API loggers, and spend logs.

A stream is logged as the whole reply. Calls other than completions (embeddings, images) are skipped; failed calls are
refused requests. Of the metadata about the sender, only the names of key and team become columns. Hashes of keys and
addresses of people become columns only if the user names these columns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from entropy_sentinel.logs.openai_format import error_reply, responses_in
from entropy_sentinel.logs.parsed_response import NotAResponse, Reply
from entropy_sentinel.logs.reader_base import Reader, request_columns, time_column, usual_columns
from entropy_sentinel.logs.value_paths import from_json

_KEPT = ("call_type", "model_group", "custom_llm_provider", "end_user", "request_tags", "cache_hit", "session_id")
_KEPT_METADATA = ("user_api_key_alias", "user_api_key_team_alias")
_FROM_THE_CLIENT = ("requester_metadata", "spend_logs_metadata")
_COMPLETIONS = ("completion", "responses", "generate_content", "messages")


class LiteLLMReader(Reader):
    """Reads one call per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the responses of the call."""
        payload = record.get("standard_logging_object") or record
        call = str(payload.get("call_type") or "")
        if not any(kind in call for kind in _COMPLETIONS):
            raise NotAResponse(f"calls of {call or 'no type'}")
        if payload.get("status") == "failure":
            error = payload.get("error_str") or (payload.get("error_information") or {}).get("error_message")
            responses, facts = [error_reply(error, {})], dict[str, Any]()
        else:
            responses, facts = responses_in(payload.get("response") or None)
        kept = self.columns(payload, facts | _usual(payload))
        for reply in responses:
            reply.item_id = reply.reply_id = payload.get("id") or payload.get("request_id")
            reply.model, reply.columns = payload.get("model"), kept
            yield reply


def _usual(payload: Mapping[str, Any]) -> dict[str, Any]:
    metadata = payload.get("metadata") or {}
    metadata = (from_json(metadata) if isinstance(metadata, str) else metadata) or {}
    start = payload.get("startTime")
    fields = {name: payload[name] for name in _KEPT if name in payload}
    of_client: dict[str, Any] = {}
    for part in _FROM_THE_CLIENT:
        of_client = {**of_client, **(metadata.get(part) or {})}
    of_sender = {}
    for name in _KEPT_METADATA:
        if metadata.get(name):
            of_sender[name.removeprefix("user_api_")] = metadata[name]
    return (
        request_columns(payload.get("model_parameters"))
        | usual_columns(fields | {"metadata": of_client})
        | of_sender
        | time_column(start)
    )
