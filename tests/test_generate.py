"""Stage `generations`, with an engine that needs no model; the real engine runs in test_workflow.py."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from entropy_sentinel.adapters.vllm_engine import Response
from entropy_sentinel.contracts.benchmarks import BENCHMARKS
from entropy_sentinel.contracts.generations import GENERATIONS, TOP_K
from entropy_sentinel.contracts.prompts import PROMPTS
from entropy_sentinel.stages.generate import generate, provenance, request_seed

SETTINGS = {"seed": 42, "model": "tiny", "samples": 2, "prompt": "solve-step-by-step"}


class CountingEngine:
    """Answers the n-th message with n tokens, the first with none."""

    provenance = {"engine": "counting", "engine_version": "1", "logprobs_mode": "raw_logprobs"}

    def chat(self, messages: Sequence[str], seeds: Sequence[int]) -> list[Response]:
        self.messages, self.seeds = list(messages), list(seeds)
        return [
            Response(
                prompt_hash=f"{n:016x}",
                prompt_tokens=7,
                text="x" * n,
                finish_reason="stop",
                token_ids=np.arange(n, dtype=np.uint32),
                token_logprobs=np.full(n, -0.5, dtype=np.float32),
                top_logprobs=np.tile(-np.arange(TOP_K, dtype=np.float32), (n, 1)),
            )
            for n in range(len(messages))
        ]


def items(n: int) -> pl.DataFrame:
    ids = [f"a-{number:05d}" for number in range(n)]
    return BENCHMARKS.frame(
        {"item_id": ids, "question": [f"What is {{{n}}}?" for n in ids], "reference": ids, "duplicate_of": ids}
    )


def test_every_item_is_answered_samples_times_in_order() -> None:
    engine = CountingEngine()
    frame = GENERATIONS.check(generate(items(3), SETTINGS, engine))
    assert frame.select("item_id", "sample").rows() == [(f"a-0000{i}", s) for i in range(3) for s in range(2)]
    assert frame["n_tokens"].to_list() == [0, 1, 2, 3, 4, 5]
    assert frame["token_logprobs"].list.len().to_list() == [0, 1, 2, 3, 4, 5]
    assert frame["token_ids"][5].to_list() == [0, 1, 2, 3, 4]
    assert frame["top_logprobs"][2][1].to_list() == [-float(rank) for rank in range(20)]
    assert engine.seeds == frame["seed"].to_list()


def test_all_responses_empty() -> None:
    frame = GENERATIONS.check(generate(items(1), SETTINGS | {"samples": 1}, CountingEngine()))
    assert frame["top_logprobs"][0].to_list() == []


def test_prompt_is_the_papers_to_the_letter() -> None:
    assert PROMPTS["solve-step-by-step"].render("What is {x}?") == (
        "Solve the following problem step by step, then provide the final numerical answer.\n\n"
        "Question: What is {x}?\n\nSolution:"
    )


def test_seeds_differ_by_item_sample_model_and_study() -> None:
    seeds = {
        request_seed(seed, model, item, sample)
        for seed in (42, 43)
        for model in ("a", "b")
        for item in ("x-00000", "x-00001")
        for sample in (0, 1)
    }
    assert len(seeds) == 16
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert request_seed(42, "a", "x-00000", 0) == request_seed(42, "a", "x-00000", 0)


def test_provenance_names_origin_and_prompts() -> None:
    engine = CountingEngine()
    frame = generate(items(2), SETTINGS, engine)
    found = provenance(SETTINGS, engine, frame)
    assert found["engine"] == "counting"
    assert found["logprobs_mode"] == "raw_logprobs"
    assert found["top_k_returned"] == 20
    assert found["seed"] == 42
    assert len(found["prompts_hash"]) == 16
    assert provenance(SETTINGS, engine, frame.head(3))["prompts_hash"] != found["prompts_hash"]
