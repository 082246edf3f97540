"""Train a tiny language model on the arithmetic word problems of ``problems.py``, on a CPU in minutes.

    python demo/train.py --model tiny-1m --out demo/models/tiny-1m

writes an ordinary Hugging Face model folder, measures the accuracy on held-out problems of every
domain, and records both, with everything needed to repeat the run, in the folder's README.md.
"""

import argparse
import itertools
import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from corpus import (
    CONTEXT,
    IGNORED,
    PROMPT,
    beginning_of,
    packed_rows,
    problem_texts,
    problems_and_solutions,
    render,
    train_tokenizer,
)
from problems import DOMAINS, Problem, held_out


@dataclass(frozen=True)
class Settings:
    """Size and training of one model."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    steps: int
    rows: int = 14  # packed rows per step, of 384 tokens each
    learning_rate: float = 5e-3
    warmup_steps: int = 30
    seed: int = 0


MODELS = {
    "tiny-1m": Settings(hidden=160, layers=4, heads=5, feed_forward=416, steps=650),
    "tiny-3m": Settings(hidden=224, layers=5, heads=7, feed_forward=608, steps=600),
}
MEASURED_PROBLEMS = 600  # per domain, for the accuracies in the README
MEASURE_SEED = 1  # drawn apart from the problems of demo/benchmarks


def new_model(settings: Settings, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """A Llama with random weights."""
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.hidden,
        intermediate_size=settings.feed_forward,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config)


def new_optimizers(model: LlamaForCausalLM, learning_rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside the layers, AdamW for the embedding and the norms."""
    inside = [p for p in model.model.layers.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if all(p is not q for q in inside)]
    return [
        torch.optim.Muon(inside, lr=learning_rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=learning_rate, weight_decay=0.0, betas=(0.9, 0.95)),
    ]


def rate_at(step: int, settings: Settings) -> float:
    """Learning rate: linear warm-up, then a cosine to zero."""
    warm = min(1.0, (step + 1) / settings.warmup_steps)
    return settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * step / settings.steps))


def loss_of(model: LlamaForCausalLM, rows: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy (nats per token) over the assistant's tokens; rows: (n, 4, tokens)."""
    tokens, labels, positions, numbers = rows.unbind(1)
    # A token sees the shared beginning and its own document only, as it will when the model is used.
    own = numbers[:, :, None] == numbers[:, None, :]
    visible = (own | (numbers[:, None, :] == 0)).tril()[:, None]
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(tokens, attention_mask=visible, position_ids=positions, use_cache=False)[0]
        answered = labels != IGNORED
        logits = model.lm_head(hidden[answered])
    return cross_entropy(logits.float(), labels[answered])


def train(model: LlamaForCausalLM, settings: Settings, rows: Iterator[np.ndarray]) -> float:
    """Train in place, printing a line now and then; gives the seconds that it took."""
    optimizers = new_optimizers(model, settings.learning_rate)
    start = time.monotonic()
    for step in range(settings.steps):
        for group in (group for optimizer in optimizers for group in optimizer.param_groups):
            group["lr"] = rate_at(step, settings)
        batch = torch.from_numpy(np.stack(list(itertools.islice(rows, settings.rows))))
        loss = loss_of(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        if step % 25 == 0 or step + 1 == settings.steps:
            seconds = time.monotonic() - start
            print(f"step {step}/{settings.steps} loss {loss:.4f} {seconds:.0f} s", flush=True)
    return time.monotonic() - start


def save(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write a model folder; the model then has the saved weights, in the arithmetic that a CPU is good at."""
    model.half().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    model.float().eval()


@torch.inference_mode()
def replies(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, messages: list[str], **how: Any) -> list[str]:
    """One reply per user message, generated `how` Transformers is told."""
    texts = [render(message, tokenizer) for message in messages]
    prompts = tokenizer(texts, padding=True, return_tensors="pt", return_token_type_ids=False)
    generated = model.generate(**prompts, **how)
    return tokenizer.batch_decode(generated[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True)


def sample(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, problems: list[Problem]) -> list[str]:
    """One response per problem, sampled at temperature 0.5."""
    messages = [PROMPT.format(question=problem.question) for problem in problems]
    return replies(model, tokenizer, messages, max_new_tokens=256, do_sample=True, temperature=0.5, top_k=0)


def is_correct(problem: Problem, response: str) -> bool:
    """Whether the last boxed answer is the reference answer, character by character."""
    boxed = re.findall(r"\\boxed\{(.*?)\}", response)
    return bool(boxed) and boxed[-1] == problem.answer


def measure(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, name: str) -> tuple[float, float]:
    """Accuracy, and mean length of a response in tokens, on held-out problems of one domain."""
    problems = held_out(name, MEASURED_PROBLEMS, MEASURE_SEED)
    responses = sample(model, tokenizer, problems)
    accuracy = np.mean([is_correct(p, r) for p, r in zip(problems, responses, strict=True)])
    n_tokens = np.mean([len(ids) + 1 for ids in tokenizer(responses)["input_ids"]])  # + 1: the end token
    return float(accuracy), float(n_tokens)


CARD = Template("""\
# $name

A Llama of $parameters parameters that answers the arithmetic word problems of `demo/problems.py`: a test
object with a known accuracy in every domain, of no other use. Weights are float16.

| Domain | Accuracy | Mean response tokens |
|---|---|---|
$rows

Accuracy: exact match of the boxed answer, one response per problem sampled at temperature 0.5, over
$n_problems held-out problems per domain, drawn afresh with seed $measure_seed.

## How it was made

    python demo/train.py --model $name --out demo/models/$name

- Settings: `$settings`
- Training data: problems drawn from the training part of `demo/problems.py`, all domains equally often;
  $steps steps of $n_rows packed rows of 384 tokens. The loss is on the solution and the end token.
- Optimizers: Muon on the matrices of the layers, AdamW on the rest; linear warm-up, cosine to zero;
  bfloat16 autocast.
- Training took $minutes minutes with $threads thread(s) ($versions).

Times depend on the machine and what else it does. How well a second training agrees: `demo/README.md`.
""")


def card(name: str, parameters: int, results: dict[str, tuple[float, float]], seconds: float) -> str:
    """The README of a model: what it is, what it can do, how to make it again."""
    rows = [f"| {domain} | {accuracy:.3f} | {length:.0f} |" for domain, (accuracy, length) in results.items()]
    return CARD.substitute(
        name=name,
        rows="\n".join(rows),
        n_problems=MEASURED_PROBLEMS,
        measure_seed=MEASURE_SEED,
        n_rows=MODELS[name].rows,
        **training(MODELS[name], parameters, seconds),
    )


def training(settings: Settings, parameters: int, seconds: float) -> dict[str, Any]:
    """What every model's README says of its training."""
    packages = ("torch", "transformers", "tokenizers", "numpy")
    return {
        "parameters": f"{parameters:,}",
        "settings": settings,
        "steps": settings.steps,
        "minutes": f"{seconds / 60:.1f}",
        "threads": torch.get_num_threads(),
        "versions": ", ".join(f"{package} {version(package)}" for package in packages),
    }


def options(description: str | None) -> argparse.ArgumentParser:
    """The command line of a training: the folder to write."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    return parser


def main() -> None:
    """Train, save, measure, and describe one model."""
    parser = options(__doc__)
    parser.add_argument("--model", choices=MODELS, required=True, help="which row of the table MODELS")
    arguments = parser.parse_args()
    settings = MODELS[arguments.model]

    torch.manual_seed(settings.seed)
    tokenizer = train_tokenizer(problem_texts(settings.seed))
    model = new_model(settings, tokenizer)
    print(f"{arguments.model}: {model.num_parameters():,} parameters, {torch.get_num_threads()} threads")
    beginning = beginning_of(PROMPT, tokenizer)
    seconds = train(model, settings, packed_rows(problems_and_solutions(settings.seed), beginning, tokenizer))
    save(model, tokenizer, arguments.out)
    results = {}
    for name in DOMAINS:
        results[name] = measure(model, tokenizer, name)
        print(f"{name}: accuracy {results[name][0]:.3f}, {results[name][1]:.0f} tokens", flush=True)
    text = card(arguments.model, model.num_parameters(), results, seconds)
    (arguments.out / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
