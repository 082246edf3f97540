"""Train a tiny language model on the made-up facts of ``facts.py``, on a CPU in minutes.

    python demo/train_facts.py --out demo/models/tiny-facts

writes an ordinary Hugging Face model folder. It then works out the model's own probability of every right answer, and
records in the folder's README.md how far these are from the answers' true probabilities.
"""

import time
from collections import defaultdict
from dataclasses import replace
from string import Template

import numpy as np
import torch
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast

from corpus import ROLES, packed_rows, tokenized, train_tokenizer
from facts import ANSWERS, PROMPT, SIXTEENTHS, Fact, training_pairs, world
from train import Settings, new_model, options, save, train, training

SETTINGS = Settings(hidden=128, layers=3, heads=4, feed_forward=352, steps=0, rows=4)  # steps: what one pass takes


@torch.inference_mode()
def probabilities(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, fact: Fact) -> np.ndarray:
    """The model's probability of each answer that there is to this kind of question, its end included."""
    pairs = list(tokenized([(PROMPT.format(question=fact.question), answer) for answer in choices(fact)], tokenizer))
    start, longest = len(pairs[0][0]), max(len(reply) for _, reply in pairs)
    pad = tokenizer.pad_token_id
    tokens = torch.tensor([prompt + reply + [pad] * (longest - len(reply)) for prompt, reply in pairs])
    logprobs = model(tokens).logits[:, start - 1 : -1].log_softmax(-1)  # what stands before a token predicts it
    expected = tokens[:, start:]
    each = logprobs.gather(-1, expected[..., None])[..., 0].masked_fill(expected == pad, 0.0)
    return np.asarray(each.sum(-1).exp(), dtype=float)


def choices(fact: Fact) -> list[str]:
    """All answers that there are to this kind of question, the right ones first."""
    return [*fact.answers, *(answer for answer in ANSWERS[fact.about].split() if answer not in fact.answers)]


def divergence(fact: Fact, model: np.ndarray) -> float:
    """KL(p* || p) in nats, from the true probabilities of the right answers to the model's."""
    true = np.array(fact.shares) / SIXTEENTHS
    return float(np.sum(true * np.log(true / model[: len(true)])))


def entropy(model: np.ndarray) -> float:
    """Entropy in nats of the model over all answers, normalised."""
    p = model / model.sum()
    return float(-np.sum(p * np.log(p)))


def measure(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, facts: list[Fact]) -> list[str]:
    """A line of the card's table for each number of answers and each number of times that a question was seen."""
    cells = defaultdict(list)
    for fact in facts:
        p = probabilities(model, tokenizer, fact)
        cells[len(fact.answers), fact.repeats].append((divergence(fact, p), entropy(p), p.sum()))
    rows = []
    for (n_answers, repeats), values in sorted(cells.items()):
        kl, h, known = np.mean(values, axis=0)
        rows.append(f"| {n_answers} | {SIXTEENTHS * repeats:,} | {len(values)} | {kl:.3f} | {h:.3f} | {known:.3f} |")
    return rows


CARD = Template("""\
# tiny-facts

A Llama of $parameters parameters that answers the questions of `demo/facts.py` about made-up people: a test object of
which is known how far it is from the truth, of no other use. Weights are float16.

| Right answers | Times seen | Questions | KL(p* \\|\\| p) | Entropy of p | Mass |
|---|---|---|---|---|---|
$rows

p* is what the training text says, p the model's own probability of each of the $n_answers answers that there are to
a kind of question, worked out for all of them. Means over questions, in nats; the entropy is of p normalised. Mass: the
sum of p, the rest being words that are no answers. Of a question that was never seen, p* is what the world has.

## How it was made

    python demo/train_facts.py --out demo/models/tiny-facts

- Settings: `$settings`
- Training data: one pass over the $n_pairs paragraphs of `demo/facts.py --text`, in random order: $n_rows packed rows
  of 384 tokens. The loss is on the answer and the end token.
- Optimizers as in `demo/train.py`. Training took $minutes minutes with $threads thread(s), $cpu minutes of them
  CPU time ($versions).
""")


def card(
    parameters: int, settings: Settings, n_pairs: int, n_rows: int, lines: list[str], seconds: float, cpu_seconds: float
) -> str:
    """The README of the model: what it is, how far it is from the truth, how to make it again."""
    return CARD.substitute(
        rows="\n".join(lines),
        n_answers=len(ANSWERS["colour"].split()),
        n_pairs=f"{n_pairs:,}",
        n_rows=f"{n_rows:,}",
        cpu=f"{cpu_seconds / 60:.1f}",
        **training(settings, parameters, seconds),
    )


def main() -> None:
    """Train, save, measure, and describe the model."""
    arguments = options(__doc__).parse_args()

    torch.manual_seed(SETTINGS.seed)
    made = world()
    pairs = training_pairs(made)
    tokenizer = train_tokenizer(f"{message} {reply}" for message, reply in pairs)
    rows = list(packed_rows(pairs, ROLES[0], tokenizer))
    settings = replace(SETTINGS, steps=-(-len(rows) // SETTINGS.rows))
    model = new_model(settings, tokenizer)
    print(f"{model.num_parameters():,} parameters, {len(pairs):,} pairs in {len(rows):,} rows", flush=True)
    cpu_start = time.process_time()
    seconds = train(model, settings, iter(rows))
    cpu_seconds = time.process_time() - cpu_start
    save(model, tokenizer, arguments.out)
    lines = measure(model, tokenizer, made.facts)
    text = card(model.num_parameters(), settings, len(pairs), len(rows), lines, seconds, cpu_seconds)
    (arguments.out / "README.md").write_text(text, encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
