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
from entropy_sentinel.logs.conversation import CONVERSATION, conversation_of
from entropy_sentinel.logs.log_record import BadRecord, PlacedRecord, too_long
from entropy_sentinel.logs.openai_format import message_choice
from entropy_sentinel.logs.parsed_response import Reply, finish, refused, storable
from entropy_sentinel.logs.reader_base import Reader, metadata_columns, request_columns

# The files of an archive with the facts of its evaluation; an interrupted run has only the second file.
_HEADERS = ("header.json", "_journal/start.json")
_VERDICTS = {"C": True, "I": False, "N": False}
_BLOCK = 1 << 20
_Kind = TypeVar("_Kind")
_CUT_OFF = ("max_tokens", "model_length")


def archived_samples(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the samples of a `.eval` file, each with the facts of its evaluation as `eval`."""
    zipfile = _zipfile(name)
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

    def content(member: Any, where: str) -> PlacedRecord | BadRecord:
        try:
            document = _unpacked(archive, member, longest)
            return (
                BadRecord(where, too_long(longest))
                if len(document) > longest
                else PlacedRecord(where, json.loads(document))
            )
        except Exception as error:  # of JSON, of the archive, or of its compression
            return BadRecord(where, f"must be a JSON object: {error}")

    log = content(header, f"{name}: {header.filename}")
    if isinstance(log, BadRecord):
        raise IncompleteFileError(f"{log.where}: {log.problem}")
    run = _run(log.content, log.where)
    for member in members.values():
        if member.filename.startswith("samples/") and member.filename.endswith(".json"):
            sample = content(member, f"{name}: {member.filename}")
            yield sample if isinstance(sample, BadRecord) else _record(run, sample.content, sample.where)


def _unpacked(archive: Any, member: Any, longest: int) -> bytes:
    """A file of an archive, or a little more than `longest` bytes of it, whatever size the archive states."""
    document = bytearray()
    with archive.open(member) as packed:
        while len(document) <= longest and (block := packed.read(_BLOCK)):
            document += block
    return bytes(document)


def listed_samples(stream: Stream, name: str, longest: int) -> Iterator[PlacedRecord | BadRecord]:
    """Yield the samples of a `.json` log, which is read as a whole."""
    document = stream.read(longest + 1)
    if len(document) > longest:
        yield BadRecord(name, f"{too_long(longest)}, or convert it: inspect log convert --to eval")
        return
    try:
        log = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise IncompleteFileError(f"{name}: must be a JSON object: {error}") from None
    run = _run(log, name)
    for number, sample in enumerate(_of_type(list, log.get("samples") or [], "samples", name), start=1):
        yield _record(run, sample, f"{name}: sample {number}")


def _run(log: Any, where: str) -> dict[str, Any]:
    """The facts of an evaluation; settings of the run override those of its model."""
    log = _of_type(dict, log, "the log", where)
    run = _of_type(dict, log.get("eval"), "eval", where)
    plan = _of_type(dict, log.get("plan") or {}, "plan", where)
    of_model = _of_type(dict, run.get("model_generate_config") or {}, "model_generate_config", where)
    of_run = _of_type(dict, plan.get("config") or {}, "config", where)
    return {**run, "model_generate_config": of_model | of_run}


def _of_type(kind: type[_Kind], value: Any, name: str, where: str) -> _Kind:
    """A value of a log's header; raises IncompleteFileError if it is of another type."""
    if not isinstance(value, kind):
        must = "a JSON object" if kind is dict else "a list"
        raise IncompleteFileError(f"{where}: {name} must be {must}, is {type(value).__name__}")
    return value


def _record(run: Mapping[str, Any], sample: Any, where: str) -> PlacedRecord | BadRecord:
    if not isinstance(sample, dict):
        return BadRecord(where, f"must be a JSON object, is {type(sample).__name__}")
    return PlacedRecord(where, {**sample, "eval": run})


def _zipfile(name: str) -> Any:
    """The module that unpacks archives, including zstd."""
    if sys.version_info >= (3, 14):
        import zipfile
    else:
        try:
            from backports.zstd import zipfile
        except ImportError:
            raise InputError(
                f"{name}: logs of inspect_ai are packed with zstd; run: pip install 'entropy-sentinel[inspect]'"
            ) from None
    return zipfile


class InspectReader(Reader):
    """Reads one sample per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """Yield the choices of the sample's output, or a refused or empty response if it has none."""
        output = record.get("output") or {}
        choices = output.get("choices") or ()
        # The question is the sample's input; the messages contain it inside a template.
        asked = {**record, "messages": None}
        kept = self.columns(asked, _usual(record)) | {"benchmark": storable(record["eval"]["task"])}
        if CONVERSATION in kept:
            kept[CONVERSATION] = conversation_of(record)
        seed = record["eval"]["model_generate_config"].get("seed")
        replies = [_choice(choice, record) for choice in choices] or [Reply(None, None, "", _failure(record), None)]
        for number, reply in enumerate(replies):
            # If there is no output, inspect_ai writes its own name for the model.
            reply.model = output.get("model") or None if choices else None
            reply.item_id, reply.columns = str(record["id"]), kept
            reply.sample = (record["epoch"] - 1) * len(replies) + number
            reply.prompt_tokens = (output.get("usage") or {}).get("input_tokens") or 0
            reply.seed = -1 if seed is None else seed
            reply.task = record["eval"].get("task_id")
            reply.label, reply.label_reason = label_of(record, self.scorer)
            if number:
                reply.label, reply.label_reason = None, "only the first choice was scored"
            yield reply


def _choice(choice: Mapping[str, Any], record: Mapping[str, Any]) -> Reply:
    reason = choice.get("stop_reason")
    reply = message_choice({**choice, "finish_reason": reason}, choice.get("message"))
    reply.finish_reason = "length" if reason in _CUT_OFF else _limit(record) or finish(reason)
    return reply


def _failure(record: Mapping[str, Any]) -> str:
    """The finish reason of a sample without output."""
    if record.get("error"):
        return refused(record["error"])
    return _limit(record) or "no output"


def _limit(record: Mapping[str, Any]) -> str | None:
    limit = record.get("limit")
    return f"{storable(str(limit['type']))} limit" if limit else None


def _usual(record: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a sample that may define slices."""
    run, end = record["eval"], record.get("completed_at")
    return (
        ({"time": _time(end)} if end else {}) | request_columns(run["model_generate_config"]) | metadata_columns(record)
    )


def _time(text: str) -> datetime:
    """A time with its zone, by default UTC, so that a log has times of one type."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def label_of(record: Mapping[str, Any], scorer: str | None) -> tuple[bool | None, str | None]:
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
        return None, storable(f"there are several scorers, {names}: name one of them with --scorer")
    if scorer is not None and scorer not in scores:
        return None, storable(f"there is no score of '{scorer}', only of {names}")
    score = scores[scorer or names]
    label = _verdict(score["value"])
    why = score.get("reason") or f"score {score['value']!r} is neither right (C, 1, true) nor wrong (I, N, 0, false)"
    return label, None if label is not None else storable(str(why))[:200]


def _verdict(value: Any) -> bool | None:
    """The verdict of a score; null for a partial score or an unknown value."""
    if isinstance(value, str):
        return _VERDICTS.get(value)
    return bool(value) if isinstance(value, bool | int | float) and value in (0, 1) else None
