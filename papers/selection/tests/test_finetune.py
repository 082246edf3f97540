"""The trainer of the demo: what it trains on, and that its answers are the model's."""

import itertools
import json
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from finetune import Training, answers, batches, conversations, loss_of, trained
from problems import DOMAINS, TRAINING, held_out
from train import replies

DEMO = Path(__file__).parents[3] / "demo"
MODEL = DEMO / "models" / "tiny-1m"


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(MODEL)


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    return LlamaForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()


def pairs() -> list[tuple[str, str]]:
    """A short and a long conversation, as selections have them."""
    rows = [json.loads((DEMO / f"training/{name}.jsonl").read_text().splitlines()[150]) for name in TRAINING]
    return [(row["question"], row["solution"]) for row in rows]


def test_every_problem_comes_once_before_any_comes_again() -> None:
    twelve = [(str(number), "") for number in range(12)]
    one, again, other = (list(itertools.islice(batches(twelve, 5, seed), 12)) for seed in (1, 1, 2))
    assert one == again != other
    told = [pair for batch in one for pair in batch]
    assert all(sorted(told[at : at + 12]) == sorted(twelve) for at in range(0, 60, 12))


def test_training_problems_are_of_all_domains_and_none_is_held_out() -> None:
    assert sorted(domain for domains in TRAINING.values() for domain in domains) == sorted(DOMAINS)
    texts = [(DEMO / f"training/{name}.jsonl").read_text().splitlines() for name in TRAINING]
    questions = {json.loads(line)["question"] for lines in texts for line in lines}
    assert len(questions) == 1000
    assert not questions & {problem.question for name in DOMAINS for problem in held_out(name, 100, 4)}


def test_a_selection_is_read_as_pairs(tmp_path: Path) -> None:
    path = tmp_path / "eas.jsonl"
    row = {"messages": [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}], "reason": "x"}
    path.write_text(json.dumps(row) + "\n")
    assert conversations(path) == [("1+1?", "2")]


def test_the_loss_is_the_mean_over_the_replies_tokens(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast
) -> None:
    """Each conversation by itself, without padding, token by token."""
    total, count = 0.0, 0
    for message, reply in pairs():
        prompt = tokenizer(f"<|user|>{message}<|assistant|>")["input_ids"]
        expected = tokenizer(f"{reply}<|end|>")["input_ids"]
        with torch.no_grad():
            logits = model(torch.tensor([prompt + expected])).logits[0, len(prompt) - 1 : -1]
        total += float(cross_entropy(logits, torch.tensor(expected), reduction="sum"))
        count += len(expected)
    assert loss_of(model, tokenizer, pairs()).item() == pytest.approx(total / count, abs=1e-4)


def test_training_lowers_the_loss_of_what_is_trained_on(tokenizer: PreTrainedTokenizerFast) -> None:
    before, after = (
        loss_of(
            trained(MODEL, pairs(), Training(steps=steps, batch=2, learning_rate=3e-4), 0), tokenizer, pairs()
        ).item()
        for steps in (0, 8)
    )
    assert after < 0.8 * before


def test_answers_are_the_models_own(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast) -> None:
    """At a temperature near 0 every round is what Transformers generates greedily."""
    messages = [message for message, _ in pairs()]
    greedy = replies(model, tokenizer, messages, do_sample=False, max_new_tokens=80)
    result = answers(model, tokenizer, messages, Training(rounds=3, temperature=1e-4))
    assert result == [[reply] * 3 for reply in greedy]
