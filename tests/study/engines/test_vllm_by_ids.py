"""What vLLM says by token ids against Transformers on the same weights: continuations and beams, float32."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from entropy_sentinel.study.config.config_loading import load_config, read_config
from entropy_sentinel.study.config.generation_requests import generation_settings
from entropy_sentinel.study.engines.engine_client import SharedEngine

pytestmark = pytest.mark.long(minutes=1)

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "demo" / "models" / "tiny-1m"
QUESTIONS = [json.loads(row)["question"] for row in (ROOT / "demo/benchmarks/averages.jsonl").read_text().splitlines()]
N, WIDTH, LONGEST, END = 4, 5, 64, 1
# Teacher forcing; all sequences of up to two tokens; and Transformers' own beam search, without a length penalty.
TRANSFORMERS = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, questions, width, longest = json.loads(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder)
start = "Solve the following problem step by step, then provide the final numerical answer.\\n\\nQuestion: "
chats = [[{"role": "user", "content": f"{start}{one}\\n\\nSolution:"}] for one in questions]
prompts = [tokenizer.apply_chat_template(one, add_generation_prompt=True, return_dict=False) for one in chats]

@torch.no_grad()
def log_p(contexts):
    return torch.log_softmax(model(torch.tensor(contexts)).logits.double(), -1)

given = [[prompts[0], prompts[1][:9]], [prompts[1], tokenizer.encode("12+3=15.", add_special_tokens=False)], [[5], [7]]]
forced = []
for context, tokens in given:
    found = log_p([context + tokens])[0, len(context) - 1 : -1]
    forced.append(found[torch.arange(len(tokens)), torch.tensor(tokens)].tolist())
everything, searched = [], []
for prompt in prompts:
    first = log_p([prompt])[0, -1]
    second = log_p([prompt + [token] for token in range(len(first))])[:, -1]
    both = first[:, None] + second
    both[tokenizer.eos_token_id] = -torch.inf  # nothing follows the end
    sequences = [([one // len(first), one % len(first)], both.flatten()[one].item()) for one in both.flatten().topk(9).indices.tolist()]
    sequences.append(([tokenizer.eos_token_id], first[tokenizer.eos_token_id].item()))
    everything.append(sorted(sequences, key=lambda one: -one[1]))
    found = model.generate(
        torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt)), num_beams=width, num_return_sequences=width,
        do_sample=False, length_penalty=0.0, early_stopping="never", max_new_tokens=longest,
        return_dict_in_generate=True, output_scores=True,
    )
    rows = [one[len(prompt):].tolist() for one in found.sequences]
    ends = [one.index(tokenizer.eos_token_id) + 1 if tokenizer.eos_token_id in one else len(one) for one in rows]
    searched.append([[one[:end], score] for one, end, score in zip(rows, ends, found.sequences_scores.tolist())])
json.dump({"prompts": prompts, "given": given, "forced": forced, "everything": everything, "searched": searched}, open(sys.argv[2], "w"))
"""  # noqa: E501


def run(*command: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    pytest.importorskip("transformers", reason="Transformers is not installed")
    file = tmp_path_factory.mktemp("transformers") / "expected.json"
    run("-c", TRANSFORMERS, json.dumps([str(MODEL), QUESTIONS[:N], WIDTH, LONGEST]), str(file))
    return json.loads(file.read_text())


@pytest.fixture(scope="module")
def found(expected: dict[str, Any]) -> dict[str, Any]:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    prompts = expected["prompts"]
    searches = [
        [prompts, {"width": 10, "max_tokens": 2}],
        [prompts, {"width": WIDTH, "max_tokens": LONGEST}],
        [prompts, {"width": WIDTH, "max_tokens": LONGEST, "stop": [". "]}],
        [[[5] * 600, prompts[0]], {"width": 1, "max_tokens": 1}],
    ]
    settings = generation_settings(load_config(read_config(["config.yaml", "demo/config.yaml"])), "tiny-1m", "averages")
    engine = SharedEngine(settings, 1)
    given = sorted(engine.continuations([*expected["given"], [[5] * 600, [3]], [[5], []]]))
    searched = []
    for contexts, how in searches:
        searched.append([beams for _, beams in sorted(engine.beams(contexts, **how))])
    return {"continuations": [(one.logprobs.tolist(), one.refused) for _, one in given], "searches": searched}


def test_continuations_are_those_of_teacher_forcing(expected: dict[str, Any], found: dict[str, Any]) -> None:
    *given, (too_long, refused), (nothing, _) = found["continuations"]
    for (logprobs, reason), forced in zip(given, expected["forced"], strict=True):
        assert reason == ""
        np.testing.assert_allclose(logprobs, forced, atol=2e-4)
    assert (too_long, refused) == ([], "context of 601 tokens, the model accepts at most 511")
    assert nothing == []


def test_beams_of_two_tokens_are_the_likeliest_of_all(expected: dict[str, Any], found: dict[str, Any]) -> None:
    for one, everything in zip(found["searches"][0], expected["everything"], strict=True):
        best = [(beam.token_ids, beam.logprob) for beam in one.beams[:5]]
        assert [list(ids) for ids, _ in best] == [ids for ids, _ in everything[:5]]
        np.testing.assert_allclose([value for _, value in best], [value for _, value in everything[:5]], atol=5e-4)


def test_beams_are_those_of_transformers(expected: dict[str, Any], found: dict[str, Any]) -> None:
    """The likeliest is the same; others are at least as likely, for Transformers drops ends outside the first beams."""
    for one, searched in zip(found["searches"][1], expected["searched"], strict=True):
        assert len(one.beams) == WIDTH
        assert list(one.beams[0].token_ids) == searched[0][0]
        assert one.beams[0].logprob == pytest.approx(searched[0][1], abs=2e-3)
        for ours, (_, theirs) in zip(one.beams, searched, strict=True):
            assert ours.logprob > theirs - 2e-3
        assert one.beams[0].finish_reason == "stop"
        for beam in one.beams:
            assert beam.finish_reason == ("stop" if beam.token_ids[-1] == END else "length")


def test_a_text_ends_beams(found: dict[str, Any]) -> None:
    """The demo's solutions are short sentences: the first one ends with a full stop and a space."""
    for one, whole in zip(found["searches"][2], found["searches"][1], strict=True):
        assert {beam.finish_reason for beam in one.beams} == {"stop"}
        assert not any(". " in beam.text for beam in one.beams)
        assert whole.beams[0].text.startswith(one.beams[0].text + ". ")


def test_a_context_without_room_is_refused_beside_others(found: dict[str, Any]) -> None:
    refused, other = found["searches"][3]
    assert (refused.beams, refused.refused) == ((), "context of 600 tokens, the model accepts at most 511")
    assert len(other.beams) == 1
