"""Read samples of evaluations by inspect_ai: `.eval`, a zip archive with a JSON document per sample, and `.json`.

- The task is the benchmark, the epoch is the number of the sample, and the scores are labels.
- Log-probabilities come from the last generation. If there are several choices, only the first was scored.
- A sample without output counts as refused if it failed; otherwise its finish reason is the limit that it reached.
- If a run was interrupted, the samples in its log are read.

inspect_ai's own reader is not used, because it also checks all events and takes fifteen times as long.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from entropy_sentinel.core.errors import IncompleteFileError, InputError
from entropy_sentinel.core.external_files import Stream
from entropy_sentinel.core.extras import install_command
from entropy_sentinel.logs.conversation import CONVERSATION, extract_conversation
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord, describe_excess
from entropy_sentinel.logs.openai_format import parse_message_choice
from entropy_sentinel.logs.parsed_response import Reply, format_refusal, parse_finish_reason, replace_surrogates
from entropy_sentinel.logs.reader_base import Reader, collect_metadata, collect_request_columns

# The files of an archive with the facts of its evaluation; an interrupted run has only the second file.
_HEADERS = ("header.json", "_journal/start.json")
_VERDICTS = {"C": True, "I": False, "N": False}
_BLOCK = 1 << 20
_Kind = TypeVar("_Kind")
_TRUNCATION_REASONS = ("max_tokens", "model_length")


def read_archive(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the samples of a `.eval` file, each with the facts of its evaluation as `eval`."""
    zipfile = _import_zipfile(name)
    try:
        archive = zipfile.ZipFile(stream)
    except (
        zipfile.BadZipFile,
        OSError,
        ValueError,
        NotImplementedError,
    ) as error:  # the last of a later version of zip
        raise IncompleteFileError(f"{name}: must be a whole zip archive: {error}") from None
    members = {member.filename: member for member in archive.infolist()}
    header = next((members[header] for header in _HEADERS if header in members), None)
    if header is None:
        raise InputError(f"{name}: is a zip archive without {_HEADERS[0]}, so it is not a log of inspect_ai")

    def read_member(member: Any, where: str) -> PlacedRecord | BadRecord:
        """The JSON document in a file of the archive."""
        try:
            document = _unpack_member(archive, member, longest)
            if len(document) > longest:
                return BadRecord(where, describe_excess(longest))
            return PlacedRecord(where, json.loads(document))
        except Exception as error:  # of JSON, of the archive, or of its compression
            return BadRecord(where, f"must be a JSON object: {error}")

    log = read_member(header, f"{name}: {header.filename}")
    if isinstance(log, BadRecord):
        raise IncompleteFileError(f"{log.where}: {log.problem}")
    run = _read_evaluation(log.content, log.where)
    for member in members.values():
        if member.filename.startswith("samples/") and member.filename.endswith(".json"):
            sample = read_member(member, f"{name}: {member.filename}")
            yield sample if isinstance(sample, BadRecord) else _build_record(run, sample.content, sample.where)


def _unpack_member(archive: Any, member: Any, longest: int) -> bytes:
    """A file of an archive, or a little more than `longest` bytes of it, whatever size the archive states."""
    document = bytearray()
    with archive.open(member) as packed:
        while len(document) <= longest and (block := packed.read(_BLOCK)):
            document += block
    return bytes(document)


def read_json_log(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the samples of a `.json` log, which is read as a whole."""
    document = stream.read(longest + 1)
    if len(document) > longest:
        yield BadRecord(name, f"{describe_excess(longest)}, or convert it: inspect log convert --to eval")
        return
    try:
        log = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise IncompleteFileError(f"{name}: must be a JSON object: {error}") from None
    run = _read_evaluation(log, name)
    for number, sample in enumerate(_require_type(list, log.get("samples") or [], "samples", name), start=1):
        yield _build_record(run, sample, f"{name}: sample {number}")


def _read_evaluation(log: Any, where: str) -> dict[str, Any]:
    """A log's `eval`, the facts of the evaluation; in `model_generate_config`, settings of the run come first."""
    log = _require_type(dict, log, "the log", where)
    run = _require_type(dict, log.get("eval"), "eval", where)
    plan = _require_type(dict, log.get("plan") or {}, "plan", where)
    model_config = _require_type(dict, run.get("model_generate_config") or {}, "model_generate_config", where)
    run_config = _require_type(dict, plan.get("config") or {}, "config", where)
    return {**run, "model_generate_config": model_config | run_config}


def _require_type(kind: type[_Kind], value: Any, name: str, where: str) -> _Kind:
    """A value of a log's header; raises IncompleteFileError if it is of another type."""
    if not isinstance(value, kind):
        must = "a JSON object" if kind is dict else "a list"
        raise IncompleteFileError(f"{where}: {name} must be {must}, is {type(value).__name__}")
    return value


def _build_record(run: Mapping[str, Any], sample: Any, where: str) -> PlacedRecord | BadRecord:
    """The record of a sample, with the facts of its evaluation, `run`, as `eval`."""
    if not isinstance(sample, dict):
        return BadRecord(where, f"must be a JSON object, is {type(sample).__name__}")
    return PlacedRecord(where, {**sample, "eval": run})


def _import_zipfile(name: str) -> Any:
    """The module that unpacks archives, including zstd."""
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        try:
            from backports.zstd import zipfile
        except ImportError:
            raise InputError(
                f"{name}: logs of inspect_ai are packed with zstd; run: {install_command('inspect')}"
            ) from None
    return zipfile


class InspectReader(Reader):
    """Reads one sample per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the choices of the sample's output, or a refused or empty response if it has none."""
        output = record.get("output") or {}
        choices = output.get("choices") or ()
        # The question is the sample's input; the messages contain it inside a template.
        question_record = {**record, "messages": None}
        columns = self.columns(question_record, _build_columns(record)) | {
            "benchmark": replace_surrogates(record["eval"]["task"])
        }
        if CONVERSATION in columns:
            columns[CONVERSATION] = extract_conversation(record)
        seed = record["eval"]["model_generate_config"].get("seed")
        replies = [_parse_choice(choice, record) for choice in choices] or [
            Reply(item_id=None, model=None, text="", finish_reason=_describe_failure(record), trace=None)
        ]
        for number, reply in enumerate(replies):
            # If there is no output, inspect_ai writes its own name for the model.
            reply.model = (output.get("model") or None) if choices else None
            reply.item_id = str(record["id"])
            reply.columns = columns
            reply.sample = (record["epoch"] - 1) * len(replies) + number
            reply.prompt_tokens = (output.get("usage") or {}).get("input_tokens") or 0
            reply.seed = -1 if seed is None else seed
            reply.task = record["eval"].get("task_id")
            reply.label, reply.label_reason = read_label(record, self.scorer)
            if number:
                reply.label, reply.label_reason = None, "only the first choice was scored"
            yield reply


def _parse_choice(choice: Mapping[str, Any], record: Mapping[str, Any]) -> Reply:
    """The response of a choice of a sample's output; a limit that the sample reached is its finish reason."""
    reason = choice.get("stop_reason")
    reply = parse_message_choice({**choice, "finish_reason": reason}, choice.get("message"))
    if reason in _TRUNCATION_REASONS:
        reply.finish_reason = "length"
    else:
        reply.finish_reason = _describe_limit(record) or parse_finish_reason(reason)
    return reply


def _describe_failure(record: Mapping[str, Any]) -> str:
    """The finish reason of a sample without output."""
    if record.get("error"):
        return format_refusal(record["error"])
    return _describe_limit(record) or "no output"


def _describe_limit(record: Mapping[str, Any]) -> str | None:
    """The limit that a sample reached, such as `token limit`; None if it reached none."""
    limit = record.get("limit")
    return f"{replace_surrogates(str(limit['type']))} limit" if limit else None


def _build_columns(record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a sample that may define slices."""
    end = record.get("completed_at")
    time = {"time": _parse_time(end)} if end else {}
    return time | collect_request_columns(record["eval"]["model_generate_config"]) | collect_metadata(record)


def _parse_time(text: str) -> datetime:
    """A time with its zone, by default UTC, so that a log has times of one type."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def read_label(record: Mapping[str, Any], scorer: str | None) -> tuple[bool | None, str | None]:
    """Whether the sample is correct according to `scorer` or its only scorer; if unknown, null and the reason.

    A score with several values counts as one score per value, by the scorer `NAME.KEY`.
    """
    scores = dict[str, Mapping[str, Any]]()
    for name, score in (record.get("scores") or {}).items():
        if isinstance(score["value"], Mapping):
            for key, value in score["value"].items():
                scores[f"{name}.{key}"] = {"value": value}
        else:
            scores[name] = score
    names = ", ".join(scores)
    if not scores:
        return None, "the sample failed before it was scored" if record.get("error") else "the sample has no score"
    if scorer is None and len(scores) > 1:
        return None, replace_surrogates(f"there are several scorers, {names}: name one of them with --scorer")
    if scorer is not None and scorer not in scores:
        return None, replace_surrogates(f"there is no score of '{scorer}', only of {names}")
    score = scores[scorer or names]
    label = _parse_verdict(score["value"])
    why = score.get("reason") or f"score {score['value']!r} is neither right (C, 1, true) nor wrong (I, N, 0, false)"
    return label, None if label is not None else replace_surrogates(str(why))[:200]


def _parse_verdict(value: Any) -> bool | None:
    """The verdict of a score; null for a partial score or an unknown value."""
    if isinstance(value, str):
        return _VERDICTS.get(value)
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None
