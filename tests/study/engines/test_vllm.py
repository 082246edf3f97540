"""The vLLM engine against Transformers on the same weights and tokens, and the settings of a model."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_probe import PLAIN, QUESTIONS

from entropy_sentinel.study.engines.engine_registry import PROMPTS

pytestmark = pytest.mark.long

TESTS = Path(__file__).parents[2] / "shared"
LOG_SOFTMAX = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, messages, answers = json.load(open(sys.argv[1]))
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder)
rows = []
for message, tokens in zip(messages, answers):
    chat = [{"role": "user", "content": message}]
    prompt = tokenizer(message).input_ids if message.startswith("Q: ") else tokenizer.apply_chat_template(
        chat, add_generation_prompt=True, return_dict=False, strftime_now=lambda form: "2025-11-01"
    )
    logits = model(torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1]
    log_p = torch.log_softmax(logits.float(), -1)
    top = log_p.topk(20)
    rows.append({
        "sampled": log_p[torch.arange(len(tokens)), torch.tensor(tokens)].tolist(),
        "top": top.values.tolist(), "ids": top.indices.tolist(), "prompt_tokens": len(prompt),
    })
json.dump(rows, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    folder = tmp_path_factory.mktemp("engine")
    command = [sys.executable, str(TESTS / "engine_probe.py"), str(folder)]
    environment = os.environ | {"PYTHONPATH": str(TESTS.parents[1] / "workflow")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "answers.json").read_text())


@pytest.fixture(scope="module")
def expected(folder: Path, answers: dict[str, Any]) -> list[dict[str, Any]]:
    """Log-softmax of the logits of Transformers on the prompts and the sampled tokens."""
    messages = [PROMPTS["solve-step-by-step"].render(question=question)[0]["content"] for question in QUESTIONS]
    messages += [PLAIN.format(question=question) for question in QUESTIONS]
    tokens = [answer["token_ids"] for answer in answers["base"] + answers["plain"]]
    (folder / "in.json").write_text(json.dumps([str(folder / "model"), messages, tokens]))
    command = [sys.executable, "-c", LOG_SOFTMAX, str(folder / "in.json"), str(folder / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "out.json").read_text())


def test_log_probabilities_are_those_before_temperature(answers, expected) -> None:
    for answer, row in zip(answers["base"] + answers["plain"], expected, strict=True):
        assert answer["prompt_tokens"] == row["prompt_tokens"]
        np.testing.assert_allclose(answer["token_logprobs"], row["sampled"], atol=1e-4)
        np.testing.assert_allclose(answer["top_logprobs"], row["top"], atol=1e-4, rtol=1e-4)
    assert answers["provenance"]["logprobs_mode"] == "raw_logprobs"


def test_plain_text_has_no_chat_template_around_it(answers, expected) -> None:
    """Its prompt is the tokens of the text alone, as the test above compares; the template's begins with the date."""
    for plain, chat in zip(answers["plain"], answers["base"], strict=True):
        assert plain["prompt_tokens"] != chat["prompt_tokens"]


def test_ids_of_the_most_likely_tokens(answers, expected) -> None:
    """The first few, which no rounding can swap."""
    for answer, row in zip(answers["base"], expected[: len(QUESTIONS)], strict=True):
        assert [ids[0] for ids in answer["top_token_ids"]] == [ids[0] for ids in row["ids"]]


def test_texts_of_the_most_likely_tokens_are_those_of_their_ids(answers) -> None:
    """Where the sampled token is one of them, by both columns."""
    for answer in answers["base"]:
        by_id: dict[int, set[str]] = {}
        for texts, ids in zip(answer["top_tokens"], answer["top_token_ids"], strict=True):
            assert len(texts) == len(ids) == 20
            for text, one in zip(texts, ids, strict=True):
                by_id.setdefault(one, set()).add(text)
        sampled = zip(answer["tokens"], answer["token_ids"], strict=True)
        named = [text in by_id[one] for text, one in sampled if one in by_id]
        assert named
        assert all(named)
    assert all(answer["top_tokens"] is None for answer in answers["lora"])


def test_texts_of_tokens_are_those_of_the_response(answers) -> None:
    for answer in answers["base"]:
        assert len(answer["tokens"]) == len(answer["token_ids"])
        assert len(set(zip(answer["tokens"], answer["token_ids"], strict=True))) == len(set(answer["token_ids"]))
        assert answer["text"].strip() in "".join(answer["tokens"])


def test_the_date_of_a_template_is_pinned(answers) -> None:
    for name in ("base", "lora"):
        assert [one["prompt_hash"] for one in answers[name]] == [one["prompt_hash"] for one in answers["base"]]
    for one, other in zip(answers["base"], answers["other_date"], strict=True):
        assert one["prompt_hash"] != other["prompt_hash"]


def test_a_lora_is_used(answers) -> None:
    """A random adapter makes nonsense of the first token's probabilities."""
    for with_lora, without in zip(answers["lora"], answers["base"], strict=True):
        assert not np.allclose(with_lora["top_logprobs"][0], without["top_logprobs"][0], atol=0.1)


def test_an_overlong_prompt_is_refused_and_the_others_are_answered(answers) -> None:
    refused, *others = sorted(answers["overlong"], key=lambda answer: answer[0] != 1)
    position, reason, text = refused
    assert (position, text) == (1, "")
    assert reason.startswith(
        "refused: This model's maximum context length is 512 tokens. However, your prompt contains"
    )
    assert sorted(position for position, *_ in others) == [0, 2]
    assert all(reason in ("stop", "length") and text for _, reason, text in others)
