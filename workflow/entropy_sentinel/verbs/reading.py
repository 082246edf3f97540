"""Files of responses as frames, features of these, and features as files."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.features.compute import compute_features, is_traces, missing_mass
from entropy_sentinel.features.files import feature_batches, holds_features
from entropy_sentinel.frames.errors import InputError
from entropy_sentinel.frames.files import check_outputs
from entropy_sentinel.frames.generation import LOGPROBS
from entropy_sentinel.frames.options import taking
from entropy_sentinel.frames.printable import one_line
from entropy_sentinel.signals.computing import with_signals
from entropy_sentinel.sources.logs.memory import Replies, held
from entropy_sentinel.sources.logs.reading import Logs, of_replies
from entropy_sentinel.sources.logs.settings import ReadOptions
from entropy_sentinel.sources.logs.summary import Summary
from entropy_sentinel.sources.logs.traces import combined
from entropy_sentinel.verbs.inputs import Paths, log_files

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Example:
    """Files that come with the package: what a small open model answered to questions of published benchmarks.

    They are 30 questions of each of five, a part of the repository's `examples/real`. To be small, log-probabilities
    are rounded: no probability moves by more than 0.00012.

    Attributes:
        traces: A folder with the responses and their log-probabilities.
        labels: A file with their labels, by final answers; null where an answer could not be read.
        log: Some short responses as a log, with five alternatives to a token.
        sources: Where model and questions come from, and their licences.
    """

    traces: Path
    labels: Path
    log: Path
    sources: Path


def example() -> Example:
    """Where the example's files are.

    Returns:
        Their paths.

    Examples:
        >>> import entropy_sentinel as es
        >>> es.example().labels.name
        'labels.parquet'
    """
    folder = Path(__file__).parents[1] / "example"
    return Example(folder / "traces", folder / "labels.parquet", folder / "log.jsonl", folder / "SOURCES.md")


@taking(ReadOptions)
def open_logs(paths: Paths | Replies, **options: Any) -> Logs:
    """The responses of logs as frames of bounded size, to go through once.

    Args:
        paths: Files, patterns, folders, or `-` for standard input, in any format of `sources.logs.settings`, or traces
            of this pipeline. Replies in memory stand in their place: a dict, an object that an OpenAI or LiteLLM client
            has given, a list of these, or a table of them as a frame of Polars, pandas or Arrow.
        **options: The fields of `ReadOptions`, by name: the format, columns, alternatives to a token.

    Returns:
        What gives the frames when it is gone through; its `summary` says what was understood.

    Raises:
        InputError: For a file that is not there, and while reading with `strict` for a record that cannot be used.

    Examples:
        >>> import entropy_sentinel as es
        >>> logs = open_logs(es.example().log)
        >>> sum(frame.height for frame in logs), logs.summary.top_k
        (15, Counter({5: 15}))
    """
    settings = ReadOptions.of(options)
    replies = held(paths)
    return Logs(log_files(paths) if replies is None else [replies], settings)


@taking(ReadOptions)
def read_logs(paths: Paths | Replies, **options: Any) -> pl.DataFrame:
    """The responses of logs, with their log-probabilities, in one frame. What could not be read is a warning.

    Args:
        paths: As for `open_logs`: files, patterns, folders, or replies in memory.
        **options: The fields of `ReadOptions`, as for `open_logs`.

    Returns:
        One row per response. Columns are those of GENERATIONS, with `model`, `benchmark` (the name of a log's file),
        the log-probabilities: `logprobs_mode`, `top_k_returned`; and those of the log.

    Raises:
        InputError: Where there is no file, and no response in it.
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
    logs = open_logs(paths, **options)
    frames = _some(list(logs), logs.summary)
    _warn(logs.summary)
    return combined(frames)


@taking(ReadOptions)
def read_features(
    paths: Paths | Replies, texts: bool = False, signals: Sequence[str] = (), **options: Any
) -> pl.DataFrame:
    """Features from files of stage `features` or, computed now, of logs or replies in memory.

    Logs are read by the batch: only features are held.

    Args:
        paths: As for `open_logs`, or files of features.
        texts: Add the responses' texts in the column `response`.
        signals: Names of signals beside the features, as an estimator needs them: of a log's column of the name, or
            else computed where that takes a response's traces alone. Files of features must have them.
        **options: The fields of `ReadOptions`, as for `open_logs`.

    Returns:
        One row per response. Columns are those of FEATURE_FRAME, of the log-probabilities and of the log.

    Raises:
        InputError: Where there is no file, and no response in it.
        ContractError: For a file of another stage.

    Examples:
        >>> import entropy_sentinel as es
        >>> read_features(es.example().log, columns=["metadata.route"])["metadata.route"].unique().sort().to_list()
        ['gsm8k', 'math', 'scibench', 'svamp', 'theoremqa']
    """
    settings = ReadOptions.of({**options, "further": (*options.get("further", ()), *signals)})
    replies = held(paths)
    given_files = log_files(paths) if replies is None else []
    if replies is None and not given_files:
        raise InputError("features: there must be one file at least, were none")
    made = [path for path in given_files if holds_features(path)]
    if made and settings.top_k:
        raise InputError(f"{made[0]}: holds features; to cut the alternatives of a token, give the traces")
    logs = Logs([path for path in given_files if path not in made] if replies is None else [replies], settings)
    batches = (batch for path in made for batch in feature_batches(path))
    frames = [frame for batch in batches if len(frame := logs.selection.of(batch))]
    frames += _features(logs, None, texts, signals)
    _warn(logs.summary)
    return combined(_some(frames, logs.summary))


def features_of(
    logs: Logs, vocabulary: int | None = None, texts: bool = False, signals: Sequence[str] = ()
) -> pl.DataFrame:
    """The features of logs, computed batch by batch; InputError where they hold no response.

    `vocabulary` is the number of tokens that the model chooses from, where it is known. With `texts` the responses
    themselves are in the column `response`; `signals` are names of further ones.
    """
    return combined(_some(list(_features(logs, vocabulary, texts, signals)), logs.summary))


def _features(logs: Logs, vocabulary: int | None, texts: bool, signals: Sequence[str]) -> Iterator[pl.DataFrame]:
    for frame in logs:
        frame = frame.with_columns(response="text") if texts else frame
        yield with_signals(compute_features(frame, vocabulary), frame, signals)


def _some(frames: list[pl.DataFrame], summary: Summary) -> list[pl.DataFrame]:
    if not frames:
        raise InputError(f"there is no response in the logs: {summary.why_none()}")
    return frames


def _warn(summary: Summary) -> None:
    """Say what could not be read."""
    if summary.n_bad:
        log.warning("%d records could not be read: %s", summary.n_bad, one_line("; ".join(summary.lines())))


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
            f"features: {' and '.join(LOGPROBS)} must be the same in all rows, there are {several}; {_remedy(kinds)}"
        )
    targets: dict[str, Path] = {}
    for *kind, _ in kinds:
        suffix = f"-top{kind[LOGPROBS.index('top_k_returned')]}" if len(kinds) > 1 else ""
        targets[f"output of {_words(kind)}"] = Path(path).with_stem(f"{Path(path).stem}{suffix}")
    check_outputs(targets, inputs)
    for number, ((*kind, _), target) in enumerate(zip(kinds, targets.values(), strict=True)):
        origin = dict(zip(LOGPROBS, kind, strict=True))
        same = pl.all_horizontal(pl.col(name).eq_missing(value) for name, value in origin.items())
        # Responses without features go with the first.
        rows = features.filter(same | (pl.col("reason").is_not_null() & (number == 0)))
        known = {**(facts or {}), **origin, "missing_mass": missing_mass(rows)}
        FEATURE_FRAME.write(rows.drop(LOGPROBS), target, known)
    return [*targets.values()]


def _words(kind: Sequence[Any]) -> str:
    mode, top_k = kind
    return f"{top_k} alternatives to a token ({mode})"


def _remedy(kinds: Sequence[Sequence[Any]]) -> str:
    """What to do about responses of several kinds."""
    widths = sorted({width for kind in kinds if (width := kind[LOGPROBS.index("top_k_returned")])})
    if len(widths) < 2:
        return f"take one kind, as --where logprobs_mode={kinds[0][0]}, or write a file for each (--split)"
    return (
        f"cut all to the smallest number of alternatives (--top-k {widths[0]}), take one kind, as --where "
        f"top_k_returned={widths[-1]}, or write a file for each (--split)"
    )


def features(traces: Replies, vocabulary: int | None = None, signals: Sequence[str] = ()) -> pl.DataFrame:
    """The features of every response.

    All features of a response are null, and `reason` says why, where it has no log-probabilities, where it is empty, or
    where its trace cannot be one of probabilities: a NaN, a positive log-probability, a step that adds up to more than
    1, a sampled token above the most likely one, a step without any likely token, steps of equal entries alone, a mean
    likelihood that no sampler draws.

    Args:
        traces: What `read_logs` gives; or replies in memory, as for `read_logs`. The entropy is over as many tokens as
            a step of them has.
        vocabulary: The number of all tokens of the model, which gives the bound on what the entropy lacks.
        signals: Names of signals of other families to add: of a column of the name, or else computed where that takes a
            response's traces alone, or else null.

    Returns:
        A frame with one row per response: the columns of FEATURE_FRAME, and those that `traces` has beside GENERATIONS,
        of the log-probabilities and of a log.

    Raises:
        InputError: For a column that is missing or of another type, and where the two traces of a response do not have
            `n_tokens` steps each.

    Examples:
        >>> import entropy_sentinel as es
        >>> import polars as pl
        >>> es.features(es.read_logs(es.example().traces)).select("item_id", pl.col("max").round(3)).row(0)
        ('gsm8k-00000', ...)
    """
    frame = traces if isinstance(traces, pl.DataFrame | pl.LazyFrame) and is_traces(traces) else of_replies(traces)
    computed = compute_features(frame, vocabulary)
    return with_signals(computed, frame.lazy().collect(), signals) if signals else computed
