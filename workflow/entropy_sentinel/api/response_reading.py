"""Read responses into frames, compute their features, and write features to files."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import polars as pl

from entropy_sentinel.api.feature_frames import RESPONSE_TEXT, FeatureFrames
from entropy_sentinel.api.input_checks import Paths, check_features, coerce_table, is_table, resolve_log_files
from entropy_sentinel.api.verb_options import ReadKeywords
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.option_classes import document_options, list_names
from entropy_sentinel.core.printable import make_one_line
from entropy_sentinel.core.whole_files import check_outputs
from entropy_sentinel.features.feature_computation import compute_features, is_traces, summarise_top_k
from entropy_sentinel.features.feature_files import CAPTURED
from entropy_sentinel.features.feature_registry import FEATURE_FRAME, FEATURES
from entropy_sentinel.logs.in_memory_logs import Replies, wrap_memory_records
from entropy_sentinel.logs.log_options import ReadOptions
from entropy_sentinel.logs.log_stream import Logs, read_replies
from entropy_sentinel.logs.log_summary import LogSummary
from entropy_sentinel.logs.trace_frames import combine_frames
from entropy_sentinel.schemas.generation_schema import LOGPROBS
from entropy_sentinel.signal_families.signal_computation import add_signals

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Example:
    """Files in the package: a small open model's answers to questions of published benchmarks.

    They cover 30 questions of each of five benchmarks, a part of the repository's `examples/real`. Log-probabilities
    are rounded to keep the files small; no probability changes by more than 0.00012.

    Attributes:
        traces: A folder with the responses and their log-probabilities.
        labels: A file with their labels, from the final answers; null if an answer could not be read.
        log: Some short responses as a log, with five alternatives per token.
        features: A file with the features of 700 responses to seven benchmarks, and columns `kind` (of question) and
            `label`.
        sources: The origin and licences of the model and the questions.
    """

    traces: Path
    labels: Path
    log: Path
    features: Path
    sources: Path


def example() -> Example:
    """The paths of the example's files.

    Returns:
        The paths of traces, labels, log, features and sources.

    Examples:
        >>> import entropy_sentinel as es
        >>> es.example().labels.name
        'labels.parquet'
    """
    folder = Path(__file__).parents[1] / "example"
    return Example(
        traces=folder / "traces",
        labels=folder / "labels.parquet",
        log=folder / "log.jsonl",
        features=folder / "features.parquet",
        sources=folder / "SOURCES.md",
    )


@document_options(ReadOptions)
def open_logs(
    paths: Paths | Replies,
    **options: Unpack[ReadKeywords],
) -> Logs:
    """Open logs, to iterate once over their responses in frames of bounded size.

    Args:
        paths: Files, patterns, folders, or `-` for standard input, in any format of `logs.format_registry`, or traces
            of this pipeline. Or replies in memory: a dict, an object from an OpenAI or LiteLLM client, a list of
            these, or a Polars, pandas or Arrow table of them.
        **options: The fields of `ReadOptions`, which `help(es.open_logs)` lists.

    Returns:
        An iterable of frames, whose `summary` describes what was read.

    Raises:
        InputError: If a file does not exist; while iterating with `strict`, for an unusable record.

    Examples:
        >>> import entropy_sentinel as es
        >>> logs = open_logs(es.example().log)
        >>> sum(frame.height for frame in logs), logs.summary.top_k
        (15, Counter({5: 15}))
    """
    return _open_logs(paths, ReadOptions.from_keywords("open_logs", options))


def _open_logs(paths: Paths | Replies, options: ReadOptions) -> Logs:
    """The logs that paths name, or those of replies in memory; raises InputError for captured features."""
    replies = wrap_memory_records(paths)
    if replies is not None:
        return Logs([replies], options)
    files = resolve_log_files(paths)
    for path in files:
        if str(path).endswith(CAPTURED):
            raise InputError(f"{path}: contains features, without log-probabilities; read it with `read_features`")
    return Logs(files, options)


@document_options(ReadOptions)
def read_logs(
    paths: Paths | Replies,
    **options: Unpack[ReadKeywords],
) -> pl.DataFrame:
    """Read the responses of logs, with their log-probabilities, into one frame; warn of unreadable records.

    Args:
        paths: As for `open_logs`: files, patterns, folders, or replies in memory.
        **options: The fields of `ReadOptions`, which `help(es.read_logs)` lists.

    Returns:
        One row per response, with the columns of GENERATIONS, `model`, `benchmark` (the name of a log's file),
        `logprobs_mode`, `top_k_returned`, and the columns of the log.

    Raises:
        InputError: If there is no file, or no usable response in the files.
        ContractError: For a file of another stage.

    Examples:
        >>> import entropy_sentinel as es
        >>> traces = read_logs(es.example().traces)
        >>> traces.height, traces["logprobs_mode"].unique().to_list()
        (150, ['raw_logprobs'])
        >>> step = {"token": "4", "logprob": -0.1, "top_logprobs": [{"token": "4", "logprob": -0.1}]}
        >>> choice = {"message": {"content": "4"}, "finish_reason": "stop", "logprobs": {"content": [step]}}
        >>> read_logs({"id": "a-reply", "model": "m", "choices": [choice]}).select("item_id", "text").row(0)
        ('a-reply', '4')
    """
    logs = _open_logs(paths, ReadOptions.from_keywords("read_logs", options))
    frames = _require_frames(list(logs), logs.summary)
    _warn_unreadable(logs.summary)
    return combine_frames(frames)


@document_options(ReadOptions)
def read_features(
    paths: Paths | Replies,
    texts: bool = False,
    signals: Sequence[str] = (),
    **options: Unpack[ReadKeywords],
) -> pl.DataFrame:
    """Read features from files of stage `features`, or compute them from logs or replies in memory.

    Logs are read in batches, so that only the features stay in memory.

    Args:
        paths: As for `open_logs`, or files of features.
        texts: Add the responses' texts in the column `response`.
        signals: Names of further signals, for estimators that need them. They are read from a log's column of that
            name, or else computed if a response's trace is enough. Files of features must have them.
        **options: The fields of `ReadOptions`, which `help(es.read_features)` lists.

    Returns:
        One row per response, with the columns of FEATURE_FRAME, of the log-probabilities and of the log.

    Raises:
        InputError: If there is no file, or no usable response in the files.
        ContractError: For a file of another stage.

    Examples:
        >>> import entropy_sentinel as es
        >>> read_features(es.example().log, columns=["metadata.route"])["metadata.route"].unique().sort().to_list()
        ['gsm8k', 'math', 'scibench', 'svamp', 'theoremqa']
    """
    return _read_responses(paths, texts, list_names(signals, "signals", "names"), options)


def _read_responses(
    paths: Paths | Replies,
    texts: bool,
    signals: Sequence[str],
    options: Mapping[str, Any],
    inspect: Callable[[pl.DataFrame], None] | None = None,
) -> pl.DataFrame:
    """The result of `read_features`; `inspect` is called with each frame and may raise an error."""
    settings = ReadOptions.from_keywords(
        "read_features", {**options, "further": (*options.get("further", ()), *signals)}
    )
    replies = wrap_memory_records(paths)
    sources = resolve_log_files(paths) if replies is None else [replies]
    if not sources:
        raise InputError("features: name at least one file")
    frames = FeatureFrames(sources, settings, signals=signals, texts=(RESPONSE_TEXT,) if texts else ())
    rows = _collect_frames(frames, settings, inspect)
    _warn_unreadable(frames.logs.summary)
    return rows


def compute_file_features(
    paths: Sequence[Path], vocabulary: int | None = None, signals: Sequence[str] = (), **options: Any
) -> tuple[pl.DataFrame, LogSummary]:
    """The features in files of logs, traces or features, and a summary of what was read.

    `vocabulary` is the number of tokens that the model chooses from, if known, and `options` are those of
    `ReadOptions`. Raises InputError if there is no response, or for files of features that lack what is asked for.
    """
    settings = ReadOptions.from_values({"further": tuple(signals), **options})
    frames = FeatureFrames(paths, settings, signals=signals, required=signals, vocabulary=vocabulary)
    if frames.feature_files and vocabulary is not None:
        raise InputError(
            f"{frames.feature_files[0]}: contains features, which need the traces for another --vocabulary"
        )
    return _collect_frames(frames, settings), frames.logs.summary


def _collect_frames(
    frames: FeatureFrames, settings: ReadOptions, inspect: Callable[[pl.DataFrame], None] | None = None
) -> pl.DataFrame:
    """All responses; raises InputError without any, or for stored features whose alternatives are to be cut."""
    if frames.feature_files and settings.top_k:
        raise InputError(
            f"{frames.feature_files[0]}: contains features, whose alternatives cannot be cut; give the traces"
        )
    collected: list[pl.DataFrame] = []
    for frame in frames:
        if inspect is not None:
            inspect(frame)
        collected.append(frame)
    return combine_frames(_require_frames(collected, frames.logs.summary))


def coerce_features(
    responses: Any,
    signals: Sequence[str] = (),
    inspect: Callable[[pl.DataFrame], None] | None = None,
    *,
    texts: bool = False,
    **options: Any,
) -> pl.DataFrame:
    """Features: of a table that has them, or as `read_features` computes them from anything else.

    `inspect` is called with each frame that is read, and may raise an error before the rest is read.

    Raises the errors of `check_features` or `read_features`.
    """
    if is_table(responses):
        rows = coerce_table(responses, "features")
        if not set(FEATURES).isdisjoint(rows.columns):
            return check_features(rows, signals=signals)
    return check_features(_read_responses(responses, texts, signals, options, inspect), signals=signals)


def _require_frames(frames: list[pl.DataFrame], summary: LogSummary) -> list[pl.DataFrame]:
    """The frames that were read; raises InputError, with the reasons of the summary, if there is none."""
    if not frames:
        raise InputError(f"the logs contain no usable response: {summary.explain_empty()}")
    return frames


def _warn_unreadable(summary: LogSummary) -> None:
    """Warn about records that could not be read."""
    for kind, count in summary.count_duplicates().items():
        log.warning("%d %s", count, kind)
    if summary.n_bad:
        log.warning(
            "%d records could not be read: %s", summary.n_bad, make_one_line("; ".join(summary.format_problems()))
        )


class LogprobsKind(NamedTuple):
    """A kind of log-probabilities: a value of each of the columns LOGPROBS."""

    logprobs_mode: str | None
    top_k_returned: int | None


def write_features(
    features: pl.DataFrame,
    path: str | Path,
    facts: Mapping[str, Any] | None = None,
    split: bool = False,
    inputs: Sequence[str | Path] = (),
) -> list[Path]:
    """Write features to a file for `read_features`, whose metadata are the columns LOGPROBS and further `facts`.

    With `split` each kind of log-probabilities gets a file of its own, `NAME-top5.parquet`. Returns the files.
    Raises InputError for several kinds without `split`, because they are not comparable, and if an output is an input.
    """
    kinds = _count_kinds(features) or {LogprobsKind(None, None): 0}
    if len(kinds) > 1 and not split:
        raise InputError(
            f"features: {' and '.join(LOGPROBS)} must be the same in all rows, but there are {_format_counts(kinds)}; "
            f"{_advise_kinds(kinds)}"
        )
    targets: dict[str, Path] = {}
    for kind in kinds:
        suffix = f"-top{kind.top_k_returned}" if len(kinds) > 1 else ""
        targets[f"output of {_describe_kind(kind)}"] = Path(path).with_stem(f"{Path(path).stem}{suffix}")
    check_outputs(targets, inputs)
    # Responses without features may have none of the kinds; they are written to the first file.
    has_no_file = ~pl.any_horizontal([_has_kind(kind) for kind in kinds])
    for number, (kind, target) in enumerate(zip(kinds, targets.values(), strict=True)):
        rows = features.filter(_has_kind(kind) | (has_no_file & (number == 0)))
        file_facts = {**(facts or {}), **kind._asdict(), "missing_mass": summarise_top_k(rows)}
        FEATURE_FRAME.write(rows.drop(LOGPROBS), target, file_facts)
    return [*targets.values()]


def select_most_common_kind(features: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """The responses with the most common kind of log-probabilities, and a line about the others.

    The line is empty if there are no others. Responses without features are kept.
    """
    kinds = _count_kinds(features)
    if len(kinds) < 2:
        return features, ""
    most_common = max(kinds, key=lambda kind: kinds[kind])
    other_counts = _format_counts({kind: n for kind, n in kinds.items() if kind != most_common})
    line = (
        f"left out, because the others have {_describe_kind(most_common)}: {other_counts}. To use them, "
        f"{_advise_kinds(kinds)}"
    )
    return features.filter(_has_kind(most_common) | pl.col("reason").is_not_null()), line


def _has_kind(kind: LogprobsKind) -> pl.Expr:
    """Whether a response has this kind of log-probabilities."""
    has_values = [pl.col(name).eq_missing(value) for name, value in kind._asdict().items()]
    return pl.all_horizontal(has_values)


def _count_kinds(features: pl.DataFrame) -> dict[LogprobsKind, int]:
    """The number of responses of each kind of log-probabilities.

    Responses without features do not count, unless none has features.
    """
    usable = features.filter(pl.col("reason").is_null())
    counted = usable if len(usable) else features
    counts = counted.group_by(LOGPROBS, maintain_order=True).len()
    return {LogprobsKind(*values): n for *values, n in counts.iter_rows()}


def _describe_kind(kind: LogprobsKind) -> str:
    return f"{kind.top_k_returned} alternatives per token ({kind.logprobs_mode})"


def _format_counts(kinds: Mapping[LogprobsKind, int]) -> str:
    return "; ".join(f"{n:,} responses with {_describe_kind(kind)}" for kind, n in kinds.items())


def _advise_kinds(kinds: Collection[LogprobsKind]) -> str:
    """What to do about responses of several kinds."""
    widths = sorted({kind.top_k_returned for kind in kinds if kind.top_k_returned})
    if len(widths) < 2:
        mode = next(iter(kinds)).logprobs_mode
        return f"take one kind, for example with --where logprobs_mode={mode}, or write one file for each (--split)"
    return (
        f"cut all to the smallest number of alternatives (--top-k {widths[0]}), take one kind, for example "
        f"with --where top_k_returned={widths[-1]}, or write one file for each (--split)"
    )


def features(traces: Replies, vocabulary: int | None = None, signals: Sequence[str] = ()) -> pl.DataFrame:
    """Compute the features of every response.

    A response without log-probabilities, or with an empty or impossible trace, has null features and a `reason`. A
    trace is impossible if it has any of these:

    - a NaN or a positive log-probability;
    - a step whose probabilities add up to more than 1, or are all 0;
    - a sampled token above the most likely one;
    - only steps of equal entries, or a mean likelihood that no sampler draws.

    Args:
        traces: A frame from `read_logs`, or replies in memory. The entropy of a step is over the alternatives that the
            step has.
        vocabulary: Size of the model's vocabulary; bounds the entropy of the tokens beyond the logged alternatives.
        signals: Names of further signals to add. They are read from a column of that name, or else computed if a
            response's trace is enough, or else null.

    Returns:
        A frame with one row per response: the columns of FEATURE_FRAME, of the log-probabilities, and the further
        columns of `traces`.

    Raises:
        InputError: For a missing column or one of another type, and if a trace of a response does not have
            `n_tokens` steps.

    Examples:
        >>> import entropy_sentinel as es
        >>> import polars as pl
        >>> es.features(es.read_logs(es.example().traces)).select("item_id", pl.col("max").round(3)).row(0)
        ('gsm8k-00000', ...)
    """
    frame = traces if isinstance(traces, pl.DataFrame | pl.LazyFrame) and is_traces(traces) else read_replies(traces)
    computed = compute_features(frame, vocabulary)
    names = list_names(signals, "signals", "names")
    return add_signals(computed, frame.lazy().collect(), names) if names else computed
