"""Files of responses, features and labels as frames."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.features.compute import compute_features
from entropy_sentinel.features.feature_frame import FEATURE_FRAME
from entropy_sentinel.features.missing_mass import missing_mass
from entropy_sentinel.frames.contract import PROVENANCE_KEY, given, read_provenance
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.generation import GENERATIONS, LOGPROBS
from entropy_sentinel.frames.outputs import check_outputs
from entropy_sentinel.frames.printable import one_line
from entropy_sentinel.sources.logs.catalogue import LONGEST_MB
from entropy_sentinel.sources.logs.memory import held
from entropy_sentinel.sources.logs.reading import Logs, Options
from entropy_sentinel.sources.logs.summary import Summary
from entropy_sentinel.sources.logs.traces import combined
from entropy_sentinel.verbs.files import Paths, files, log_files
from entropy_sentinel.verbs.frames import KEY, WEIGHT
from entropy_sentinel.verbs.labels import labels_of

log = logging.getLogger(__name__)

# Columns of labels beside `label`; 007 is no number.
_LABEL_COLUMNS = {**dict.fromkeys(KEY[:3], pl.String), "sample": pl.Int64, WEIGHT: pl.Float64}


@dataclass(frozen=True)
class Example:
    """Files that come with the package: a tiny model's responses to 160 arithmetic problems, and their labels.

    Attributes:
        traces: A folder with the responses and their log-probabilities.
        labels: A file with their labels.
        log: Some of the responses as the log of a server, with five alternatives to a token.
    """

    traces: Path
    labels: Path
    log: Path


def example() -> Example:
    """Where the example's files are.

    Returns:
        Their paths.

    Examples:
        >>> example().labels.name
        'labels.parquet'
    """
    folder = Path(__file__).parents[1] / "example"
    return Example(folder / "traces", folder / "labels.parquet", folder / "log.jsonl")


def open_logs(
    paths: Paths | Any,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    logprobs_mode: str | None = None,
    top_k: int | None = None,
    trace_after: str | None = None,
    model: str | None = None,
    strict: bool = False,
    places: bool = False,
    max_record_mb: float = LONGEST_MB,
) -> Logs:
    """The responses of logs as frames of bounded size, to go through once.

    Args:
        paths: Files, patterns, folders, or `-` for standard input, in any format of `sources.logs.catalogue`, or traces
            of this pipeline. Replies in memory stand in their place: a dict, an object that an OpenAI or LiteLLM client
            has given, a list of these, or a table of them as a frame of Polars, pandas or Arrow.
        format: The name of the format, for where the records do not show it.
        columns: Dotted names of the columns to keep (`metadata.route`); without, the usual ones.
        logprobs_mode: What the log-probabilities are: without it they are assumed to be `raw_logprobs`, those before
            temperature.
        top_k: Cut the alternatives to a token to so many.
        trace_after: The token that ends the thinking: features are over what follows.
        model: The model's name, where the log has none.
        strict: End at the first record that cannot be read; else such records are counted.
        places: Add a column that says the file and line of each response.
        max_record_mb: A record of more megabytes is one that cannot be read.

    Returns:
        What gives the frames when it is gone through; its `summary` says what was understood.

    Raises:
        InputError: For a file that is not there, and while reading with `strict` for a record that cannot be used.

    Examples:
        >>> logs = open_logs(example().log)
        >>> sum(frame.height for frame in logs), logs.summary.top_k
        (12, Counter({5: 12}))
    """
    options = Options(format, columns, logprobs_mode, top_k, trace_after, model, strict, places, max_record_mb)
    replies = held(paths)
    return Logs(log_files(paths) if replies is None else [replies], options)


def read_logs(paths: Paths | Any, **options: Any) -> pl.DataFrame:
    """The responses of logs, with their log-probabilities, in one frame. What could not be read is a warning.

    Args:
        paths: As for `open_logs`: files, patterns, folders, or replies in memory.
        **options: Those of `open_logs`: format, columns, logprobs_mode, top_k, trace_after, model, strict, places,
            max_record_mb.

    Returns:
        One row per response. Columns are those of GENERATIONS, with `model`, `benchmark` (the name of a log's file),
        the log-probabilities: `logprobs_mode`, `top_k_returned`; and those of the log.

    Raises:
        InputError: Where there is no file, and no response in it.
        ContractError: For a file of another stage.

    Examples:
        >>> traces = read_logs(example().traces)
        >>> traces.height, traces["logprobs_mode"].unique().to_list()
        (160, ['raw_logprobs'])
        >>> step = {"token": "4", "logprob": -0.1, "top_logprobs": [{"token": "4", "logprob": -0.1}]}
        >>> choice = {"message": {"content": "4"}, "finish_reason": "stop", "logprobs": {"content": [step]}}
        >>> read_logs({"id": "a-reply", "model": "m", "choices": [choice]}).select("item_id", "text").row(0)
        ('a-reply', '4')
    """
    logs = open_logs(paths, **options)
    frames = _some(list(logs), logs.summary)
    _warn(logs.summary)
    return combined(frames)


def read_features(paths: Paths | Any, texts: bool = False, **options: Any) -> pl.DataFrame:
    """Features from files of stage `features` or, computed now, of logs or replies in memory.

    Logs are read by the batch: only features are held.

    Args:
        paths: As for `open_logs`, or files of features.
        texts: Add the responses' texts in the column `response`.
        **options: Those of `open_logs`: format, columns, logprobs_mode, top_k, trace_after, model, strict, places,
            max_record_mb.

    Returns:
        One row per response. Columns are those of FEATURE_FRAME, of the log-probabilities and of the log.

    Raises:
        InputError: Where there is no file, and no response in it.
        ContractError: For a file of another stage.

    Examples:
        >>> read_features(example().log, columns=["metadata.route"]).select("item_id", "metadata.route").row(0)
        ('req-0001', 'averages')
    """
    if (replies := held(paths)) is not None:
        logs = open_logs(replies, **options)
        found = features_of(logs, texts=texts)
        _warn(logs.summary)
        return found
    found = log_files(paths)
    if not found:
        raise InputError("features: there must be one file at least, were none")
    made = [path for path in found if _stage(path) == FEATURE_FRAME.stage]
    if made and options.get("top_k"):
        raise InputError(f"{made[0]}: holds features; to cut the alternatives of a token, give the traces")
    frames = [_made(path) for path in made]
    if len(made) < len(found):
        logs = open_logs([path for path in found if path not in made], **options)
        frames.append(features_of(logs, texts=texts))
        _warn(logs.summary)
    return combined(frames)


def features_of(logs: Logs, vocabulary: int | None = None, texts: bool = False) -> pl.DataFrame:
    """The features of logs, computed batch by batch; InputError where they hold no response.

    `vocabulary` is the number of tokens that the model chooses from, where it is known. With `texts` the responses
    themselves are in the column `response`.
    """
    frames = (frame.with_columns(response="text") if texts else frame for frame in logs)
    return combined(_some([compute_features(frame, vocabulary) for frame in frames], logs.summary))


def write_features(
    features: pl.DataFrame,
    path: str | Path,
    facts: Mapping[str, Any] | None = None,
    split: bool = False,
    inputs: Sequence[str | Path] = (),
) -> list[Path]:
    """Write features, with the columns LOGPROBS and further `facts` about them, to a file for `read_features`.

    With `split` each kind of log-probabilities gets a file of its own, `NAME-top5.parquet`; without, InputError for
    several: they do not compare; and where one of the files is among `inputs`, those that were read. Returns the files.
    """
    usable = features.filter(pl.col("reason").is_null())
    kinds = (usable if len(usable) else features).group_by(LOGPROBS, maintain_order=True).len().rows() or [
        (None, None, 0)
    ]
    if len(kinds) > 1 and not split:
        several = "; ".join(f"{count:,} responses with {_words(kind)}" for *kind, count in kinds)
        raise InputError(
            f"features: {' and '.join(LOGPROBS)} must be the same in all rows, there are {several}; cut all to the "
            "smallest number of alternatives (--top-k), or write a file for each (--split)"
        )
    targets: dict[str, Path] = {}
    for *kind, _ in kinds:
        number = f"-top{kind[LOGPROBS.index('top_k_returned')]}" if len(kinds) > 1 else ""
        targets[f"output of {_words(kind)}"] = Path(path).with_stem(f"{Path(path).stem}{number}")
    check_outputs(targets, inputs)
    for number, ((*kind, _), target) in enumerate(zip(kinds, targets.values(), strict=True)):
        origin = dict(zip(LOGPROBS, kind, strict=True))
        same = pl.all_horizontal(pl.col(name).eq_missing(value) for name, value in origin.items())
        # Responses without features go with the first.
        rows = features.filter(same | (pl.col("reason").is_not_null() & (number == 0)))
        known = {**(facts or {}), **origin, "missing_mass": missing_mass(rows)}
        FEATURE_FRAME.write(rows.drop(LOGPROBS), target, known)
    return [*targets.values()]


def read_labels(paths: Paths) -> pl.DataFrame:
    """Labels from files of stage `labels`, or any Parquet, CSV or JSON Lines file with columns `item_id` and `label`.

    Args:
        paths: Files, patterns, folders. A label is true, false, yes, no, 1, 0, in small or capital letters, or empty.

    Returns:
        One row per label: `item_id`, `label`, and as far as they are there `model`, `benchmark`, `sample`, and
        `weight`, how many responses the one stands for.

    Raises:
        InputError: For a file without the two columns, and, with file, row and value, for what is no label or no
            weight.

    Examples:
        >>> read_labels(example().labels)["label"].mean()
        0.59375
    """
    found = [labels_of(path, _LABEL_COLUMNS) for path in files(paths)]
    if not found:
        raise InputError("labels: there must be one file at least, were none")
    return pl.concat(found, how="diagonal_relaxed")


def _made(path: Path) -> pl.DataFrame:
    """A file of stage `features`, with the facts of its log-probabilities."""
    with given(path):
        rows, origin = FEATURE_FRAME.scan(path), read_provenance(path)
        return rows.with_columns(**{name: pl.lit(origin.get(name)) for name in LOGPROBS}).collect()


def _stage(path: str | Path) -> str | None:
    """The stage of this pipeline that has written a file; None for one from outside."""
    if Path(path).suffix != ".parquet":
        return None
    with given(path):
        if PROVENANCE_KEY not in pl.read_parquet_metadata(path):
            return None
        stage = read_provenance(path)["stage"]
    if stage not in (GENERATIONS.stage, FEATURE_FRAME.stage):
        raise InputError(f"{path}: must hold features or generations, holds {stage}")
    return stage


def _some(frames: list[pl.DataFrame], summary: Summary) -> list[pl.DataFrame]:
    if not frames:
        raise InputError(f"there is no response in the logs: {'; '.join(summary.lines()) or 'they are empty'}")
    return frames


def _warn(summary: Summary) -> None:
    """Say what could not be read."""
    if summary.n_bad:
        log.warning("%d records could not be read: %s", summary.n_bad, one_line("; ".join(summary.lines())))


def _words(kind: Sequence[Any]) -> str:
    mode, top_k = kind
    return f"{top_k} alternatives to a token ({mode})"
