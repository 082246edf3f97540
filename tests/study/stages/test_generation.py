"""Stage `generations`, with an engine that needs no model; the real engine runs in test_workflow.py."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import polars as pl
import pytest
from item_files import write_items

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS, TOP_K
from entropy_sentinel.study.engines.engine_interface import Response, refused
from entropy_sentinel.study.engines.engine_registry import PROMPTS
from entropy_sentinel.study.jobs.job_outputs import link_output
from entropy_sentinel.study.stages import generation_stage
from entropy_sentinel.study.stages.job_parts import Parts

SETTINGS = {
    **{"engine": "vllm", "local": True, "seed": 42, "model": "tiny", "samples": 2, "prompt": "solve-step-by-step"},
    "sampling": {"max_tokens": 100},
}
# Of every step; the probabilities sum to 0.64.
TOP_LOGPROBS = np.array([-0.5, *-np.arange(4, TOP_K + 3)], dtype=np.float32)


class CountingEngine:
    """Answers the last messages first, each with 0 to 6 tokens by its seed.

    Refuses the first `refuse` answers, and leaves out the last `leave_out`.
    """

    provenance = {"engine": "counting", "engine_version": "1", "logprobs_mode": "raw_logprobs"}

    def __init__(
        self,
        stop_after: int | None = None,
        stop: type[BaseException] = KeyboardInterrupt,
        refuse: int = 0,
        leave_out: int = 0,
    ) -> None:
        self.stop_after, self.stop, self.answered = stop_after, stop, []
        self.refuse, self.leave_out = refuse, leave_out

    def answer(self, messages: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, Response]]:
        for done, position in enumerate(reversed(range(self.leave_out, len(messages)))):
            if done == self.stop_after:
                raise self.stop
            self.answered.append(messages[position])
            if done < self.refuse:
                yield position, refused("prompt of 5,000 tokens,\nat most 512", "f" * 16)
            else:
                yield position, response(seeds[position] % 7)

    def under_way(self) -> list[int]:
        return []


def response(n: int, **changes: Any) -> Response:
    """A response of n tokens."""
    fields = {
        "prompt_hash": "0" * 16,
        "prompt_tokens": 7,
        "text": "x" * n,
        "finish_reason": "stop",
        "token_ids": np.arange(n, dtype=np.uint32),
        "token_logprobs": np.full(n, -0.5, dtype=np.float32),
        "top_logprobs": np.tile(TOP_LOGPROBS, (n, 1)),
    }
    return Response(**(fields | changes))


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[CountingEngine]:
    """Engines that `write_generations` will be given, one after the other."""
    waiting: list[CountingEngine] = []
    monkeypatch.setattr(generation_stage, "make_engine", lambda settings, threads: waiting.pop(0))
    return waiting


def benchmark(tmp_path: Path, n: int) -> str:
    ids = [f"a-{number:05d}" for number in range(n)]
    return write_items(tmp_path, ids, question=[f"What is {{{name}}}?" for name in ids])


def generate(folder: Path, n: int, name: str = "out", cores: int = 1, **changes: Any) -> Path:
    """The file of responses to n items."""
    output = folder / f"{name}.parquet"
    generation_stage.write_generations(benchmark(folder, n), SETTINGS | changes, cores, str(output))
    return output


def test_every_item_is_answered_samples_times_in_benchmark_order(tmp_path: Path, engines: list) -> None:
    engines.append(CountingEngine())
    output = generate(tmp_path, 3)
    frame = GENERATIONS.read(output)
    assert frame.select("item_id", "sample").rows() == [(f"a-0000{i}", s) for i in range(3) for s in range(2)]
    lengths = [generation_stage.derive_seed(42, "tiny", f"a-0000{i}", s) % 7 for i in range(3) for s in range(2)]
    assert frame["n_tokens"].to_list() == lengths
    assert frame["token_logprobs"].list.len().to_list() == lengths
    assert [path.name for path in Path(f"{output}.parts").glob("*.parquet")] == ["whole.parquet"]
    assert Path(f"{output}.parts", "whole.parquet").samefile(output)
    result = read_provenance(output)
    assert (result["engine"], result["seed"], result["resumed_responses"]) == ("counting", 42, 0)


def test_engine_is_closed_where_its_answers_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests may be under way: their thread would keep the process from ending, and the job from failing."""
    monkeypatch.setattr(generation_stage, "PART_RESPONSES", 1)
    closed = []

    class Server(CountingEngine):
        def answer(self, messages: Sequence[str], seeds: Sequence[int]) -> Iterator[tuple[int, Response]]:
            try:
                yield from super().answer(messages, seeds)
            finally:
                closed.append("server")

    full_disk = Mock(run=0, append=Mock(side_effect=OSError("no room")))
    keys = [(f"a-{number:05d}", 0) for number in range(3)]
    with pytest.raises(OSError, match="no room") as failure:
        generation_stage.generate_responses(
            BENCHMARKS.read(benchmark(tmp_path, 3)), keys, SETTINGS, Server(), full_disk
        )
    assert failure.tb is not None, "which holds all frames"
    assert closed == ["server"]


def test_to_frame_keeps_empty_and_missing_lists_apart() -> None:
    responses = [response(0), response(2, token_ids=None), response(3)]
    keys = [("a", 0), ("b", 0), ("c", 0)]
    frame = GENERATIONS.check(generation_stage.to_frame(keys, [1, 2, 3], responses, 0))
    assert frame["token_ids"].to_list() == [[], None, [0, 1, 2]]
    assert frame["top_logprobs"][2][1].to_list() == [-0.5, *(-float(rank) for rank in range(4, 23))]
    assert frame["top_logprobs"][0].to_list() == []
    assert frame["top_token_ids"].null_count() == 3


def test_interrupted_job_continues_where_it_stopped(
    tmp_path: Path, engines: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generation_stage, "PART_RESPONSES", 4)
    engines.append(CountingEngine())
    whole = generate(tmp_path, 6, "whole")
    first, second = CountingEngine(stop_after=10), CountingEngine()
    engines.extend([first, second])
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path, 6)
    assert not (tmp_path / "out.parquet").exists()
    output = generate(tmp_path, 6, cores=8)  # on other cores than before
    assert len(first.answered) == 10
    assert len(second.answered) == 12 - 8  # two whole parts of four were kept
    frame = GENERATIONS.read(output)
    assert frame.drop("run").equals(GENERATIONS.read(whole).drop("run"))
    assert sorted(frame["run"]) == [0] * 8 + [1] * 4
    assert read_provenance(output)["resumed_responses"] == 4


def test_engine_that_fails_loses_nothing_it_has_answered(tmp_path: Path, engines: list) -> None:
    first, second = CountingEngine(stop_after=10, stop=RuntimeError), CountingEngine()
    engines.extend([first, second])
    with pytest.raises(RuntimeError):
        generate(tmp_path, 6)
    generate(tmp_path, 6)
    assert (len(first.answered), len(second.answered)) == (10, 2)


def test_job_killed_just_before_the_end_needs_no_engine(
    tmp_path: Path, engines: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines.append(CountingEngine())
    with monkeypatch.context() as patch:
        patch.setattr(generation_stage, "build_provenance", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            generate(tmp_path, 2)
    assert read_provenance(generate(tmp_path, 2))["engine"] == "counting"


def test_answers_that_are_kept_are_of_use_to_the_same_questions_only(tmp_path: Path, engines: list) -> None:
    """Snakemake deletes the output before its job runs. A reference that changed is no part of a question."""
    path, output = benchmark(tmp_path, 2), str(tmp_path / "out.parquet")
    engines += [CountingEngine(), CountingEngine()]
    generation_stage.write_generations(path, SETTINGS, 1, output)
    before, questions = GENERATIONS.read(output), BENCHMARKS.read(path)
    for column, left in (("reference", 1), ("question", 0)):
        shutil.rmtree(f"{output}.parts")
        assert link_output(output, f"{output}.parts")
        Path(output).unlink()
        BENCHMARKS.write(questions.with_columns(pl.lit("other").alias(column)), path, {"revision": "2"})
        generation_stage.write_generations(path, SETTINGS, 1, output)
        assert GENERATIONS.read(output).equals(before), "the engine of these tests answers by the seed"
        assert len(engines) == left, column


def test_engines_of_all_runs_are_named(tmp_path: Path) -> None:
    for version in ("0.32.0", "0.33.0"):
        with Parts(tmp_path / "parts", GENERATIONS, "same") as parts:
            frame = generation_stage.to_frame([(version, 0)], [1], [response(1)], parts.run)
            parts.append(frame, {"engine_version": version})
    assert parts.facts() == {"engine_version": "0.32.0 / 0.33.0"}


@pytest.mark.parametrize("garbage", [b"", b"no Parquet", b"PAR1", "half", "hole"])
def test_a_damaged_part_counts_as_absent_and_the_rest_is_kept(
    tmp_path: Path, engines: list, monkeypatch: pytest.MonkeyPatch, garbage: bytes | str
) -> None:
    monkeypatch.setattr(generation_stage, "PART_RESPONSES", 4)
    first, second = CountingEngine(stop_after=8), CountingEngine()
    engines.extend([first, second])
    with pytest.raises(KeyboardInterrupt):
        generate(tmp_path, 6)
    part = min((tmp_path / "out.parquet.parts").glob("part-*"))
    content = part.read_bytes()
    hole = content[:4] + bytes(len(content) // 2) + content[4 + len(content) // 2 :]
    part.write_bytes({"half": content[: len(content) // 2], "hole": hole}.get(garbage, garbage))
    output = generate(tmp_path, 6)
    assert len(second.answered) == 12 - 4
    assert GENERATIONS.check(GENERATIONS.read(output)).height == 12


def test_a_damaged_finished_file_is_generated_again(tmp_path: Path, engines: list) -> None:
    engines.extend([CountingEngine(), CountingEngine()])
    output = generate(tmp_path, 2)
    output.unlink()
    Path(f"{output}.parts", "whole.parquet").write_bytes(b"garbage")
    assert GENERATIONS.read(generate(tmp_path, 2)).height == 4


def test_refused_requests_are_named_and_counted(
    tmp_path: Path, engines: list, caplog: pytest.LogCaptureFixture
) -> None:
    engines.append(CountingEngine(refuse=1))
    output = generate(tmp_path, 3)
    frame = GENERATIONS.read(output)
    assert frame["finish_reason"].to_list() == ["stop"] * 5 + ["refused: prompt of 5,000 tokens, at most 512"]
    assert frame.row(5, named=True)["n_tokens"] == 0
    assert read_provenance(output)["refused_responses"] == 1
    assert "item 'a-00002', sample 1: refused: prompt of 5,000 tokens, at most 512" in caplog.text
    assert "1 of 6 requests were refused" in caplog.text


def test_an_engine_that_refuses_everything_is_an_error_and_is_asked_again(tmp_path: Path, engines: list) -> None:
    engines.extend([CountingEngine(refuse=4), CountingEngine()])
    with pytest.raises(ConfigError, match="models.tiny: .*all 4 requests; .*'a-00000': pr"):
        generate(tmp_path, 2)
    assert not (tmp_path / "out.parquet").exists()
    assert read_provenance(generate(tmp_path, 2))["refused_responses"] == 0


def test_an_engine_that_leaves_a_request_out_is_an_error(tmp_path: Path, engines: list) -> None:
    engines.append(CountingEngine(leave_out=1))
    with pytest.raises(EntropySentinelError, match="3 of 4 requests"):
        generate(tmp_path, 2)


def test_prompt_is_the_papers_to_the_letter() -> None:
    assert PROMPTS["solve-step-by-step"].render(question="What is {x}?")[0]["content"] == (
        "Solve the following problem step by step, then provide the final numerical answer.\n\n"
        "Question: What is {x}?\n\nSolution:"
    )


def test_a_plain_text_is_asked_as_text_with_its_places_filled(tmp_path: Path, engines: list) -> None:
    engines.append(CountingEngine())
    settings = {"text": "Q: {question} ({level})\nA:", "prompt_variables": {"level": "90"}, "samples": 1}
    output = generate(tmp_path, 2, **settings)
    assert not engines
    assert GENERATIONS.read(output)["item_id"].to_list() == ["a-00000", "a-00001"]
    for n in (0, 1):
        asked = generation_stage.fill_prompt(SETTINGS | settings, f"What is {{a-0000{n}}}?")
        assert asked == f"Q: What is {{a-0000{n}}}? (90)\nA:"


def test_seeds_differ_by_item_sample_model_and_study() -> None:
    seeds = {
        generation_stage.derive_seed(seed, model, item, sample)
        for seed in (42, 43)
        for model in ("a", "b")
        for item in ("x-00000", "x-00001")
        for sample in (0, 1)
    }
    assert len(seeds) == 16
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert generation_stage.derive_seed(42, "a", "x-00000", 0) == generation_stage.derive_seed(42, "a", "x-00000", 0)
