"""Both engines on the real thing: a model in this machine's vLLM, offline and behind a server that serve.py starts."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from fake_api import quiet_litellm, user
from serving import free_port, serving

from entropy_sentinel.features.feature_computation import compute_features
from entropy_sentinel.features.feature_registry import FEATURES
from entropy_sentinel.llm_client.server_settings import read_announced_server
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.generation_schema import scan_traces
from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import announce_servers, generation_settings
from entropy_sentinel.study.engines.api_engine import LitellmEngine

ROOT = Path(__file__).parents[3]
MODEL, BENCHMARK, ITEMS = "tiny-1m", "percentages", 40
# Hot enough that a token outside the top 20 is drawn now and then.
HOT = f"models: {{{MODEL}: {{sampling: {{temperature: 1.5, max_tokens: 64}}}}}}"
RUN_S = 300
GENERATE = (
    "import json, sys; from entropy_sentinel.study.stages.generation_stage import write_generations; "
    "write_generations(sys.argv[1], json.loads(sys.argv[2]), 1, sys.argv[3])"
)

pytestmark = [pytest.mark.long, pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the items to answer, `items.parquet`, and what differs from the demo, `hot.yaml`."""
    folder = tmp_path_factory.mktemp("api")
    rows = pl.read_ndjson(ROOT / "demo" / "benchmarks" / f"{BENCHMARK}.jsonl").head(ITEMS)
    columns = {"item_id": rows["id"], "question": rows["question"], "reference": rows["answer"]}
    BENCHMARKS.write(BENCHMARKS.frame({**columns, "duplicate_of": rows["id"]}), folder / "items.parquet", {})
    (folder / "hot.yaml").write_text(HOT)
    return folder


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Path]:
    """What the server that serve.py started says to put into a config file."""
    port, output = free_port(), folder / "server.log"
    command = [sys.executable, "-m", "entropy_sentinel", "serve", MODEL, "--port", str(port)]
    command += ["--configfile", "demo/config.yaml"]
    with serving(command, output, f"http://127.0.0.1:{port}/health", cwd=ROOT, env=environment(folder)):
        snippet = folder / "served.yaml"
        snippet.write_text(output.read_text().split("\n\n")[0])
        yield snippet


def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "workflow"), "ENTROPY_SENTINEL_CACHE": str(folder / "cache")}


def generate(folder: Path, name: str, *configs: Path) -> pl.DataFrame:
    """Answer the items with the engine that the config files name, in a process of its own."""
    with chdir(ROOT):
        raw = read_config(["config.yaml", "demo/config.yaml", folder / "hot.yaml", *configs])
        config = load_config(raw)
        settings = generation_settings(config, MODEL, BENCHMARK)
        announce_servers(config)
    start = time.monotonic()
    output = folder / f"{name}.parquet"
    subprocess.run(
        [sys.executable, "-c", GENERATE, str(folder / "items.parquet"), json.dumps(settings), str(output)],
        cwd=ROOT,
        env=environment(folder),
        check=True,
        timeout=RUN_S,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    print(f"{name}: {ITEMS} responses in {time.monotonic() - start:.1f} s, start included")
    return scan_traces(output).collect()


def test_both_engines_give_the_same_features(folder: Path, served: Path) -> None:
    offline, api = generate(folder, "offline"), generate(folder, "api", served)
    assert offline["seed"].equals(api["seed"])
    same = np.array(offline["text"] == api["text"]) & np.array(offline["n_tokens"] == api["n_tokens"])
    whole = same & np.array(api["displaced_steps"] == 0)
    displaced = int(api["displaced_steps"].sum())
    print(f"{same.sum()} of {ITEMS} texts are the same; {displaced} displaced steps, {whole.sum()} responses without")
    assert same.mean() > 0.9
    assert displaced > 0
    assert whole.sum() >= 10

    # Offline, the sampled token and the real top 20 are known: these are the steps that look displaced on a server.
    rows = zip(offline["token_logprobs"].to_list(), offline["top_logprobs"].to_list(), strict=True)
    steps = np.array([sum(token <= top[-1] for token, top in zip(*row, strict=True)) for row in rows])
    assert (steps[same] == api["displaced_steps"].to_numpy()[same]).all()

    ours, theirs = (compute_features(frame).select(FEATURES).to_numpy() for frame in (offline, api))
    worst = np.max(np.abs(ours / theirs - 1)[whole], axis=0)
    print("largest relative difference:", dict(zip(FEATURES, worst.tolist(), strict=True)))
    np.testing.assert_allclose(theirs[whole], ours[whole], rtol=1e-4)

    result = read_provenance(folder / "api.parquet")
    assert result["engine"] == f"api:hosted_vllm/{MODEL}"
    assert re.fullmatch(r"litellm \S+, tiny-1m vllm-\S+", result["engine_version"])
    assert result["logprobs_mode"] == read_provenance(folder / "offline.parquet")["logprobs_mode"]


def test_both_engines_continue_from_the_same_plain_text(folder: Path, served: Path) -> None:
    """Few examples and no chat template: offline by `enqueue`, at the server by `/v1/completions`, by token ids."""
    (folder / "plain.yaml").write_text(
        f'prompts: {{shots: {{text: "Q: What is 7 + 5?\\nA: 12\\n\\nQ: {{question}}\\nA:"}}}}\n'
        f"models: {{{MODEL}: {{prompt: shots, sampling: {{max_tokens: 64, temperature: 1.5}}}}}}"
    )
    offline, api = (generate(folder, f"plain_{len(more)}", *more, folder / "plain.yaml") for more in ([], [served]))
    same = np.array(offline["text"] == api["text"]) & np.array(offline["token_ids"] == api["token_ids"])
    print(f"{same.sum()} of {ITEMS} texts are the same")
    assert same.mean() > 0.9
    assert offline["prompt_tokens"].equals(api["prompt_tokens"])
    assert api["displaced_steps"].sum() == 0
    # The sampled token takes no place of the top 20, so that features are the same wherever the texts are.
    outside = [
        any(token < top[-1] for token, top in zip(*row, strict=True))
        for row in offline.select("token_logprobs", "top_logprobs").iter_rows()
    ]
    assert any(np.array(outside) & same)
    ours, theirs = (compute_features(frame).select(FEATURES).to_numpy() for frame in (offline, api))
    np.testing.assert_allclose(theirs[same], ours[same], rtol=1e-4)


@pytest.fixture
def engine(folder: Path, served: Path, monkeypatch: pytest.MonkeyPatch) -> LitellmEngine:
    """The engine that asks the server, of which the config says what it does not."""
    for name, value in environment(folder).items():
        monkeypatch.setenv(name, value)
    with chdir(ROOT):
        config = load_config(read_config(["config.yaml", "demo/config.yaml", folder / "hot.yaml", served]))
        settings = generation_settings(config, MODEL, BENCHMARK) | {"vocabulary": 640, "end_tokens": [1]}
        announce_servers(config)
    return LitellmEngine({**settings, "api": settings["api"] | read_announced_server(f"models.{MODEL}.api")})


@quiet_litellm
def test_only_the_question_that_is_too_long_is_refused(engine: LitellmEngine) -> None:
    given = dict(
        engine.answer([user(text) for text in ("What is 7 + 5?", "word " * 20_000, "What is 7 + 6?")], [1, 2, 3])
    )
    assert given[1].finish_reason.startswith("refused: This model's maximum context length is ")
    assert (given[1].text, len(given[1].token_logprobs)) == ("", 0)
    assert all(len(given[i].token_logprobs) and given[i].finish_reason in ("stop", "length") for i in (0, 2))


@quiet_litellm
def test_a_server_is_asked_by_token_ids(engine: LitellmEngine) -> None:
    """What it says of contexts is what Transformers say, and it takes texts apart as the tokenizer does."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights = str(ROOT / "demo" / "models" / MODEL)
    tokenizer = AutoTokenizer.from_pretrained(weights)
    text = "12+30=42. Answer: \\boxed{42}"
    (ids,) = engine.token_ids([text])
    assert ids == tokenizer.encode(text, add_special_tokens=False)
    assert engine.prompts([text])[0].token_ids == tokenizer(text).input_ids
    assert "".join(engine.token_texts([ids])[0]) == text
    model = AutoModelForCausalLM.from_pretrained(weights, dtype=torch.float32)
    contexts = [ids[:n] for n in (1, 4, 9, len(ids))]
    result = dict(engine.next_tokens(contexts))
    for number, context in enumerate(contexts):
        with torch.no_grad():
            expected = torch.log_softmax(model(torch.tensor([context])).logits[0, -1].float(), -1).topk(20)
        np.testing.assert_allclose(result[number].logprobs, expected.values.numpy(), atol=1e-4, rtol=1e-4)
        assert result[number].token_ids[0] == expected.indices[0]
    with torch.no_grad():
        expected = torch.log_softmax(model(torch.tensor([ids])).logits[0].double(), -1)
    forced = expected[torch.arange(3, len(ids) - 1), torch.tensor(ids[4:])].numpy()
    ((_, continuation),) = engine.continuations([(ids[:4], ids[4:])])
    np.testing.assert_allclose(continuation.logprobs, forced, atol=1e-4, rtol=1e-4)
    ((_, beams),) = engine.beams([ids[:3]], width=2, max_tokens=30, stop=["."])
    for beam in beams.beams:
        with torch.no_grad():
            whole = torch.log_softmax(model(torch.tensor([[*ids[:3], *beam.token_ids]])).logits[0].double(), -1)
        steps = whole[torch.arange(2, 2 + len(beam.token_ids)), torch.tensor(beam.token_ids)]
        assert beam.logprob == pytest.approx(float(steps.sum()), abs=1e-3)
        assert "." not in beam.text
        assert beam.finish_reason == "stop"
