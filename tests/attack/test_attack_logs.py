"""Logs with a record that is not as it should be: it is a bad record with its place, and the others are read.

The records are those of every format's sample in `tests/logs/samples`, as they are and with seeded mutations.
"""

import gzip
import json
import resource
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attack_cases import ROOT
from mutations import ODD, mutated
from streamed import WITH_ID, WRITERS, A, B

import entropy_sentinel as es
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.logs.json_values import END
from entropy_sentinel.logs.log_record import PlacedRecord
from entropy_sentinel.logs.log_summary import LogSummary
from entropy_sentinel.logs.record_decoding import read_records

pytestmark = pytest.mark.slow

SAMPLES = sorted((ROOT / "tests" / "logs" / "samples").glob("*.*"))
FORMATS = [path for path in SAMPLES if path.suffix != ".log"]
SEEDS = 60


def step(first: float = -0.5) -> dict[str, Any]:
    """A step of a chat completion with three alternatives."""
    top = [{"token": "a", "logprob": value} for value in (-0.5, -1.5, -4.0)]
    return {"token": "a", "logprob": first, "top_logprobs": top}


def reply(name: str = "mine", steps: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    steps = [step(), step()] if steps is None else steps
    choice = {"message": {"content": "aa"}, "finish_reason": "stop", "logprobs": {"content": steps}}
    return {"id": name, "model": "m", "choices": [choice | more.pop("choice", {})], **more}


def chunk(name: str, steps: Any, finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": "a"}, "logprobs": {"content": steps}, "finish_reason": finish}
    return {"id": name, "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def read(path: Path, **options: Any) -> tuple[pl.DataFrame, LogSummary]:
    """The features of a log, with what was understood of it."""
    logs = es.open_logs(path, **options)
    frames = [es.features(frame.with_columns(response="text")) for frame in logs]
    return pl.concat(frames, how="diagonal_relaxed") if frames else pl.DataFrame(), logs.summary


SURROGATE = "\ud800"
# What stands in line 2 between two good lines, and what is said of it: None where it is read as a response.
LINES: dict[str, tuple[Any, str | None]] = {
    "a surrogate in finish_reason": (reply(choice={"finish_reason": f"odd {SURROGATE}"}), None),
    "a surrogate in a key": (reply(metadata={f"route{SURROGATE}": "a"}), None),
    "a surrogate in a key and its replacement": (
        reply(metadata={f"route{SURROGATE}": "a", "route\ufffd": "b"}),
        "does not match its format",
    ),
    "a surrogate in every text": (reply(SURROGATE, model=SURROGATE, system_fingerprint=SURROGATE), None),
    "a log-probability of 400 digits": (reply(steps=[step(10**400)]), "int too large"),
    "a negative log-probability of 400 digits": (reply(steps=[step(-(10**400))]), "int too large"),
    "a time of 400 digits": (reply(created=10**400), None),
    "a request's column of 400 digits": (reply(metadata={"n": 10**400}), None),
    "columns run and log_run": (reply(metadata={}) | {"run": 1, "log_run": 2}, None),
    "a step that is no mapping": (reply(steps=[step(), 7]), "a step must have"),
    "a step that is null": (reply(steps=[None]), "a step must have"),
    "choices that are a number": ({"choices": 7}, "must have `choices`"),
    "deep nesting": (reply(metadata={"a": json.loads("[" * 500 + "]" * 500)}), None),
    "a table's token_logprobs null": ({"token_logprobs": None, "top_logprobs": [[-0.5, -1.5]], "text": "a"}, None),
}


@pytest.mark.parametrize("name", LINES)
def test_the_line_is_named_and_the_others_are_read(name: str, tmp_path: Path) -> None:
    line, problem = LINES[name]
    path = write(tmp_path / "log.jsonl", reply("first"), line, reply("last"))
    frame, summary = read(path)
    assert [bad.where for bad in summary.bad] == [f"{path}: line 2"] * (problem is not None)
    assert frame["item_id"].to_list()[:: len(frame) - 1] == ["first", "last"]
    assert len(frame) == 3 - (problem is not None)
    assert frame["reason"].is_null()[0]
    # Two steps of log-probabilities -0.5, -1.5 and -4: 2 x (0.5 e^-0.5 + 1.5 e^-1.5 + 4 e^-4), by hand.
    assert frame["se_sum"].to_list()[:: len(frame) - 1] == pytest.approx([1.422446] * 2, abs=1e-6)
    if problem is None:
        return
    assert problem in summary.bad[0].problem
    with pytest.raises(InputError, match="log.jsonl: line 2: "):
        read(path, strict=True)


def test_columns_that_a_frame_has_itself_keep_apart(tmp_path: Path) -> None:
    rows = {"token_logprobs": [[-0.5]], "top_logprobs": [[[-0.5, -1.5]]], "run": [1], "log_run": [2], "log_cost": [3]}
    pl.DataFrame(rows).write_parquet(tmp_path / "table.parquet")
    write(tmp_path / "lines.jsonl", {name: values[0] for name, values in rows.items()})
    for name in ("table.parquet", "lines.jsonl"):
        frame = es.read_logs(tmp_path / name)
        assert frame.select("run", "log_run", "log_log_run", "log_cost").row(0) == (0, 1, 2, 3)


@pytest.mark.parametrize("server", WRITERS)
def test_an_odd_piece_spoils_only_its_own_stream(server: str, tmp_path: Path) -> None:
    for seed in range(SEEDS):
        pieces = WRITERS[server](A)
        odd = seed % len(pieces)
        pieces[odd] = mutated(pieces[odd], f"{server} {seed}")
        frame, summary = read(write(tmp_path / "stream.jsonl", *pieces, *WRITERS[server](B)))
        assert len(frame) + summary.n_bad > 0
        if server in WITH_ID:
            good = frame.filter(pl.col("item_id") == "b", pl.col("reason").is_null())
            assert good["n_tokens"].to_list() == [len(B.words)], seed


@pytest.mark.parametrize("finished", [True, False], ids=["finished", "cut off"])
@pytest.mark.parametrize("odd", range(len(ODD)))
def test_an_odd_step_spoils_only_its_own_stream(odd: int, finished: bool, tmp_path: Path) -> None:
    end = "stop" if finished else None
    lines = [chunk("good", [step()]), chunk("odd", [step()]), chunk("odd", [ODD[odd]], end), chunk("good", [step()])]
    path = write(tmp_path / "stream.jsonl", *lines)
    frame, summary = read(path)
    good = frame.filter(pl.col("item_id") == "good")
    assert good["n_tokens"].to_list() == [2]
    assert good["se_sum"].item() == pytest.approx(1.422446, abs=1e-6)
    assert (len(frame), summary.n_bad) == (1, 1)
    # A finish reason does not end a stream; the end of the file does.
    assert summary.bad[0].where == f"{path}: line 4"
    with pytest.raises(InputError, match="line 4"):
        read(path, strict=True)


def test_a_stream_without_one_of_its_chunks_is_not_a_response(tmp_path: Path) -> None:
    """What is left of it would be other tokens than the model's."""
    lines = [chunk("odd", [step()]), chunk("odd", 7), chunk("odd", [step()], "stop"), chunk("good", [step()], "stop")]
    frame, summary = read(write(tmp_path / "stream.jsonl", *lines))
    assert frame["item_id"].to_list() == ["good"]
    assert [bad.where[-6:] for bad in summary.bad] == ["line 2", "line 4"]
    assert "the stream 'odd' has an unreadable chunk" in summary.bad[1].problem


PARQUET: dict[str, tuple[dict[str, Any], str | None]] = {
    "null token_logprobs beside filled alternatives": ({"token_logprobs": None}, None),
    "null alternatives": ({"top_logprobs": None}, None),
    "a negative trace_start": (
        {"trace_start": -1},
        "'trace_start' must be a whole number from 0 to 4,294,967,295, got -1",
    ),
    "a sample too large": ({"sample": 2**16}, "'sample' must be a whole number from 0 to 65,535, got 65536"),
}


@pytest.mark.parametrize("name", PARQUET)
def test_rows_of_parquet(name: str, tmp_path: Path) -> None:
    change, problem = PARQUET[name]
    plain = {"token_logprobs": [-0.5], "top_logprobs": [[-0.5, -1.5]], "text": "a", "item_id": "x"}
    plain |= {"trace_start": 0, "sample": 0, "seed": 1, "prompt_tokens": 1}
    rows = [plain | {"item_id": "first"}, plain | change, plain | {"item_id": "last"}]
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path := tmp_path / "table.parquet")
    frame, summary = read(path)
    assert frame["item_id"].to_list() == (["first", "x", "last"] if problem is None else ["first", "last"])
    assert frame["reason"].is_null().to_list() == ([True, False, True] if problem is None else [True, True])
    assert [(bad.where, problem in bad.problem) for bad in summary.bad] == [(f"{path}: row 1", True)] * bool(problem)
    if problem is not None:
        with pytest.raises(InputError, match="table.parquet: row 1: "):
            read(path, strict=True)


def test_one_of_a_batch_of_which_no_frame_can_be_made_is_found(tmp_path: Path, monkeypatch: Any) -> None:
    """Whatever a library raises, its panics too."""
    from entropy_sentinel.logs import log_stream

    whole, tries = log_stream.build_batch, []

    def fails(replies: Any, *others: Any) -> Any:
        tries.append(len(replies))
        if any(reply.item_id == "r-613" for reply in replies):
            raise pl.exceptions.PanicException("index out of bounds")
        return whole(replies, *others)

    monkeypatch.setattr(log_stream, "build_batch", fails)
    lines = [reply(f"r-{number}") for number in range(700)] + [reply("r-0", [step(), step(-1.5)])]
    frame, summary = read(write(tmp_path / "log.jsonl", *lines), places=True)
    assert len(frame) == 700
    assert len(tries) < 40
    assert [bad.where for bad in summary.bad] == [f"{tmp_path}/log.jsonl: line 614"]
    assert "index out of bounds" in summary.bad[0].problem
    # Frames that were given up have taken no numbers: the id that is there twice is two samples, and no other is.
    assert frame.filter(pl.col("sample") > 0)["item_id"].to_list() == ["r-0"]
    assert frame["place_in_log"][-1] == f"{tmp_path}/log.jsonl: line 701"
    assert (summary.responses, summary.formats, summary.repeated_ids) == (700, {"openai": 700}, 1)


def test_an_invalid_id_ends_the_reading_of_its_file(tmp_path: Path, monkeypatch: Any) -> None:
    from entropy_sentinel.logs import response_keys

    monkeypatch.setattr(response_keys, "_MAX_SAMPLES", 10)
    with pytest.raises(InputError, match="log.jsonl: the id 'same' occurs more than 10 times"):
        read(write(tmp_path / "log.jsonl", *[reply("same", [step()] * (1 + n)) for n in range(11)]))


@cache
def sample(path: Path) -> list[Any]:
    """The records of a format's sample."""
    return [
        record.content
        for record in read_records(str(path))
        if isinstance(record, PlacedRecord) and record.content is not END
    ]


def readable(line: Any) -> str | None:
    try:
        return json.dumps(line)
    except ValueError:  # a number of more digits than Python writes
        return None


@pytest.mark.long
@pytest.mark.parametrize(
    "seeds",
    [range(SEEDS // 3), pytest.param(range(SEEDS // 3, SEEDS), marks=pytest.mark.nightly)],
    ids=["first seeds", "other seeds"],
)
@pytest.mark.parametrize("path", FORMATS, ids=lambda path: path.stem)
def test_mutations_of_every_format(path: Path, seeds: range, tmp_path: Path) -> None:
    """One odd record among good ones: no error but for itself, and the good ones give what they gave."""
    good = sample(path)
    alone, before = read(write(tmp_path / "good.jsonl", *good))
    n_mutated = 0
    for seed in seeds:
        odd = mutated(good[seed % len(good)], f"{path.stem} {seed}")
        if not isinstance(odd, dict) or (line := readable(odd)) is None:
            continue
        n_mutated += 1
        lines = [json.dumps(record) for record in good]
        # Chunks of a stream belong together, so there the odd one is of streams of its own.
        with (tmp_path / "log.jsonl").open("w") as file:
            file.write("\n".join([*lines, line.replace("chatcmpl-E", "other-E")]))
        frame, summary = read(tmp_path / "log.jsonl", places=True)
        assert summary.n_bad + len(frame) >= before.n_bad + len(alone), seed
        shown = [*FEATURES, "response"]
        if path.stem != "openai_stream":  # whose cut-off responses come with the end of the file
            # The odd one may have the id of a good one, and then comes before the next.
            lost = alone.select(shown).join(frame.select(shown), on=shown, how="anti", nulls_equal=True)
            assert lost.is_empty(), (seed, line[:500])
        finite = frame.select(pl.col(FEATURES).drop_nulls().is_finite().all()).row(0)
        assert finite == (True,) * len(FEATURES), (seed, line[:500])
        if summary.n_bad > before.n_bad:
            with pytest.raises(InputError, match=f"log.jsonl: line {len(good) + 1}: "):
                read(tmp_path / "log.jsonl", strict=True)
        else:
            read(tmp_path / "log.jsonl", strict=True)
    assert n_mutated > len(seeds) * 0.9


# --- lines without end ------------------------------------------------------------------------------------------------
GIB = 1 << 30
READ = """
import sys
import entropy_sentinel as es
es.features(es.read_logs(sys.argv[1], max_record_mb=float(sys.argv[2])))
# Not getrusage, which counts what the process that started this one had.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def read_in_bounds(path: Path, max_record_mb: float, timeout_s: float = 60) -> int:
    """The most memory, in bytes, of a process that reads a log; it is killed where it takes too long or 2 GiB."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), str(max_record_mb)],
        env={"PYTHONPATH": str(ROOT / "workflow"), "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (2 * GIB, 2 * GIB)),
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout) * 1024


def write_packed(path: Path, *parts: bytes | tuple[bytes, int]) -> None:
    """A packed file; a pair is bytes and how often they come."""
    with gzip.open(path, "wb", compresslevel=1) as file:
        for part in parts:
            what, times = (part, 1) if isinstance(part, bytes) else part
            for _ in range(times):
                file.write(what)


@pytest.mark.long
@pytest.mark.parametrize(
    "kind",
    [
        "a line",
        *(
            pytest.param(kind, marks=pytest.mark.nightly)
            for kind in ("an entry of an array", "blank lines", "blank lines of spaces")
        ),
    ],
)
def test_a_gigabyte_of_nothing(kind: str, tmp_path: Path) -> None:
    """Little memory, and no longer than unpacking takes; what stands around it is read."""
    good, block = json.dumps(reply()).encode(), 1 << 20
    middle = {
        "a line": [b'{"choices": "', (b"a" * block, 1000), b'"}'],
        "an entry of an array": [b'{"choices": "', (b"a" * block, 1000), b'"}'],
        "blank lines": [(b"\n" * block, 1000)],
        "blank lines of spaces": [(b" \r\n\t\n" * (block // 5), 1000)],
    }[kind]
    array = kind == "an entry of an array"
    around = (b"[" + good + b",\n", b"]") if array else (good + b"\n", b"\n" + good + b"\n")
    write_packed(tmp_path / "log.jsonl.gz", around[0], *middle, around[1])
    assert read_in_bounds(tmp_path / "log.jsonl.gz", 20) < 0.5 * GIB


def test_a_line_beyond_the_longest_is_named_and_the_next_ones_are_read(tmp_path: Path) -> None:
    long = reply("long", metadata={"a": "x" * 2_000_000})
    path = write(tmp_path / "log.jsonl", reply("first"), long, reply("last"))
    frame, summary = read(path, max_record_mb=1)
    assert frame["item_id"].to_list() == ["first", "last"]
    assert summary.format_problems() == [
        f"{path}: line 2: is longer than 1 MB and was skipped; raise max_record_mb (`features --max-record-mb`) to "
        "read it"
    ]
    assert read(path, max_record_mb=3)[0]["item_id"].to_list() == ["first", "long", "last"]
    with pytest.raises(InputError, match="line 2: is longer than 1 MB"):
        read(path, max_record_mb=1, strict=True)
    with pytest.raises(ConfigError, match="max_record_mb: must be above 0"):
        read(path, max_record_mb=0)


def test_lines_are_numbered_over_blank_ones(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text("\n \n\n" + "\n" * 20_000 + "  {1}\n\r\n\n\t{2}\n" + " \n" * 9_000 + " \n  {3}")
    logs = es.open_logs(tmp_path / "log.jsonl")
    assert list(logs) == []
    assert [bad.where.split(": ")[1] for bad in logs.summary.bad] == ["line 20004", "line 20007", "line 29009"]
