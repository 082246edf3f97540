"""Train a tiny model on each selection of `entropy-sentinel select`, and measure it on new problems.

    python demo/finetune.py results/demo-selection/math-verify/selection/tiny-1m --model demo/models/tiny-1m -o FOLDER

The folder has a file for each strategy, `random.jsonl` among them. The same checkpoint is trained on each with the same
steps, once for each seed; a seed says in which order the problems come, and how answers are drawn. Pass@1 is the mean
over held-out problems of all domains and 32 rounds of answers. FOLDER gets `runs.csv`, and Table 3 of the paper with
its values beside ours (trained.py).
"""

import argparse
import itertools
import json
import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoTokenizer, DynamicCache, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from corpus import IGNORED, PROMPT, render
from problems import DOMAINS, Problem, held_out
from train import is_correct
from trained import BEFORE, RUNS, write_trained

HELD_OUT_SEED = 4  # apart from the problems of demo/benchmarks, of the model's card and of the judge


@dataclass(frozen=True)
class Training:
    """How a model is trained and measured: the same for every selection."""

    steps: int = 40
    batch: int = 16  # problems per step
    # Of 1e-5, 3e-5, 1e-4, 3e-4 that under which training on random did best, on other held-out problems (seed 5).
    learning_rate: float = 1e-5
    warmup_steps: int = 4
    rounds: int = 32  # answers to each held-out problem
    problems: int = 10  # held-out problems per domain
    temperature: float = 0.5
    max_tokens: int = 80  # the longest solution of a problem has fewer

    def __str__(self) -> str:
        return (
            f"{self.steps} steps of {self.batch} problems each, AdamW, learning rate {self.learning_rate:g} after "
            f"{self.warmup_steps} steps of warm-up, linear to zero. Measured: {self.rounds} answers at temperature "
            f"{self.temperature:g} to each of {self.problems} held-out problems of every domain"
        )


def conversations(path: Path) -> list[tuple[str, str]]:
    """The user's message and the assistant's of each line of a selection."""
    rows = [json.loads(line)["messages"] for line in path.read_text(encoding="utf-8").splitlines()]
    return [(asked["content"], expected["content"]) for asked, expected in rows]


def batches(pairs: Sequence[tuple[str, str]], size: int, seed: int) -> Iterator[list[tuple[str, str]]]:
    """Endless batches: all pairs in an order of the seed, then again in another."""
    chance = random.Random(seed)
    order: list[tuple[str, str]] = []
    while True:
        while len(order) < size:
            order += chance.sample(pairs, len(pairs))
        yield order[:size]
        order = order[size:]


def loss_of(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, pairs: list[tuple[str, str]]) -> torch.Tensor:
    """Mean cross-entropy (nats per token) over the assistant's tokens, the end token included."""
    prompts = tokenizer([render(message, tokenizer) for message, _ in pairs])["input_ids"]
    replies = tokenizer([reply + tokenizer.eos_token for _, reply in pairs])["input_ids"]
    longest = max(len(prompt) + len(reply) for prompt, reply in zip(prompts, replies, strict=True))
    tokens = torch.full((len(pairs), longest), tokenizer.pad_token_id)
    labels = torch.full((len(pairs), longest), IGNORED)
    for row, (prompt, reply) in enumerate(zip(prompts, replies, strict=True)):
        end = len(prompt) + len(reply)
        tokens[row, :end] = torch.tensor(prompt + reply)
        labels[row, len(prompt) - 1 : end - 1] = torch.tensor(reply)
    # Padding is on the right, where no token of a reply sees it.
    hidden = model.model(tokens, use_cache=False)[0]
    told = labels != IGNORED
    return cross_entropy(model.lm_head(hidden[told]), labels[told])


def trained(path: Path, pairs: Sequence[tuple[str, str]], how: Training, seed: int) -> LlamaForCausalLM:
    """The checkpoint after `how.steps` steps on `pairs`: AdamW, linear warm-up, then linear to zero."""
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(path)
    model = LlamaForCausalLM.from_pretrained(path, dtype=torch.float32)
    optimizer = torch.optim.AdamW(model.parameters(), lr=how.learning_rate, weight_decay=0.0, betas=(0.9, 0.95))
    for step, batch in enumerate(itertools.islice(batches(pairs, how.batch, seed), how.steps)):
        rate = min(1.0, (step + 1) / how.warmup_steps) * (1 - step / how.steps)
        for group in optimizer.param_groups:
            group["lr"] = how.learning_rate * rate
        loss_of(model, tokenizer, batch).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


@torch.inference_mode()
def answers(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, messages: Sequence[str], how: Training
) -> list[list[str]]:
    """`how.rounds` sampled replies to each message. The messages' tokens are computed once for all of them."""
    texts = [render(message, tokenizer) for message in messages]
    prompts = tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    mask, cache = prompts["attention_mask"], DynamicCache(config=model.config)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    hidden = model.model(prompts["input_ids"], attention_mask=mask, position_ids=positions, past_key_values=cache)[0]
    cache.batch_repeat_interleave(how.rounds)
    mask, position = (part.repeat_interleave(how.rounds, 0) for part in (mask, positions[:, -1:]))
    logits = model.lm_head(hidden[:, -1]).repeat_interleave(how.rounds, 0)
    expected, live = [], torch.ones(len(logits), dtype=torch.bool)
    for _ in range(how.max_tokens):
        token = torch.multinomial((logits / how.temperature).softmax(-1), 1)
        expected.append(token)
        live &= token[:, 0] != tokenizer.eos_token_id
        if not live.any():
            break
        position, mask = position + 1, torch.cat([mask, torch.ones_like(token)], 1)
        hidden = model.model(token, attention_mask=mask, position_ids=position, past_key_values=cache)[0]
        logits = model.lm_head(hidden[:, -1])
    replies = [_until_end(reply, tokenizer) for reply in torch.cat(expected, 1).tolist()]
    return [replies[i : i + how.rounds] for i in range(0, len(replies), how.rounds)]


def _until_end(tokens: list[int], tokenizer: PreTrainedTokenizerFast) -> str:
    end = tokens.index(tokenizer.eos_token_id) if tokenizer.eos_token_id in tokens else len(tokens)
    return str(tokenizer.decode(tokens[:end]))


def average_pass_at_1(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, problems: Sequence[Problem], how: Training
) -> dict[str, float]:
    """Share of correct answers by domain, over its problems and all rounds."""
    correct: dict[str, list[float]] = {}
    for domain, alike in itertools.groupby(problems, key=lambda problem: problem.domain):
        asked = list(alike)
        messages = [PROMPT.format(question=problem.question) for problem in asked]
        for problem, replies in zip(asked, answers(model, tokenizer, messages, how), strict=True):
            correct.setdefault(domain, []).append(float(np.mean([is_correct(problem, reply) for reply in replies])))
    return {domain: float(np.mean(shares)) for domain, shares in correct.items()}


def run(job: tuple[Path, Path | None, int, Training]) -> dict[str, Any]:
    """One row: train the model on a selection (none: the checkpoint as it is) with a seed, and measure it."""
    path, selection, seed, how = job
    torch.set_num_threads(1)
    disable_progress_bar()
    start = time.monotonic()
    tokenizer = AutoTokenizer.from_pretrained(path)
    pairs = conversations(selection) if selection else []
    model = trained(path, pairs, how if selection else Training(steps=0), seed)
    torch.manual_seed(seed)
    problems = [problem for name in DOMAINS for problem in held_out(name, how.problems, HELD_OUT_SEED)]
    domains = average_pass_at_1(model, tokenizer, problems, how)
    strategy, mean = selection.stem if selection else BEFORE, float(np.mean(list(domains.values())))
    print(f"{strategy}, seed {seed}: pass@1 {mean:.4f}, {time.monotonic() - start:.0f} s", flush=True)
    return {"strategy": strategy, "seed": seed, "items": len(pairs), "pass_at_1": mean, **domains}


def main() -> None:
    """Train on every selection with every seed, two at a time, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("selections", type=Path, help="folder with a file for each strategy")
    parser.add_argument("--model", type=Path, required=True, help="folder of the model that is trained")
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0 on")
    parser.add_argument("--steps", type=int, default=Training.steps)
    parser.add_argument("--problems", type=int, default=Training.problems, help="held-out problems per domain")
    arguments = parser.parse_args()
    how = Training(steps=arguments.steps, problems=arguments.problems)
    files = sorted(arguments.selections.glob("*.jsonl"))
    jobs: list[tuple[Path, Path | None, int, Training]] = [(arguments.model, None, 0, how)]
    jobs += [(arguments.model, file, seed, how) for seed in range(arguments.seeds) for file in files]
    start = time.monotonic()
    with ProcessPoolExecutor(2) as workers:
        rows = list(workers.map(run, jobs))
    minutes = (time.monotonic() - start) / 60
    runs = pl.DataFrame(rows, schema_overrides=RUNS)
    print(
        write_trained(runs, arguments.model.name, arguments.out, f"{how}. All runs together took {minutes:.1f} minutes")
    )


if __name__ == "__main__":
    main()
