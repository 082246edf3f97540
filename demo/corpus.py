"""Tokenizer and training rows for the tiny models: from texts to packed token ids."""

import itertools
import random
from collections.abc import Iterable, Iterator

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from problems import DOMAINS, stream

PROMPT = (
    "Solve the following problem step by step, then provide the final numerical answer.\n\n"
    "Question: {question}\n\nSolution:"
)
PAD, EOS = "<|pad|>", "<|end|>"
ROLES = ("<|user|>", "<|assistant|>", "<|system|>")
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
CONTEXT = 512  # tokens
IGNORED = -100  # the label that cross_entropy leaves out


def problem_texts(seed: int, per_domain: int = 1000) -> list[str]:
    """Prompts and solutions of training problems, for the tokenizer of the models that answer them."""
    return [
        PROMPT.format(question=problem.question) + problem.solution
        for name in DOMAINS
        for problem in itertools.islice(stream(name, seed, test=False), per_domain)
    ]


def train_tokenizer(texts: Iterable[str], vocabulary: int = 640) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with one token per digit."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[PAD, EOS, *ROLES],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        additional_special_tokens=list(ROLES),
        chat_template=CHAT_TEMPLATE,
        padding_side="left",
        model_max_length=CONTEXT,
    )


def render(message: str, tokenizer: PreTrainedTokenizerFast) -> str:
    """The text the model continues: exactly what an engine sends for one user message."""
    messages = [{"role": "user", "content": message}]
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


def beginning_of(message: str, tokenizer: PreTrainedTokenizerFast) -> str:
    """What all prompts of this kind begin with, for `packed_rows`: the text up to the first colon."""
    return render(message, tokenizer).split(":")[0] + ":"


def tokenized(
    pairs: Iterable[tuple[str, str]], tokenizer: PreTrainedTokenizerFast
) -> Iterator[tuple[list[int], list[int]]]:
    """The token ids of (user message, reply) pairs as the chat template writes them; a reply ends in the eos token."""
    pairs = iter(pairs)
    while batch := list(itertools.islice(pairs, 512)):  # the tokenizer is fast on many texts at once
        prompts = tokenizer([render(message, tokenizer) for message, _ in batch])["input_ids"]
        replies = tokenizer([reply + EOS for _, reply in batch])["input_ids"]
        yield from zip(prompts, replies, strict=True)


def problems_and_solutions(seed: int) -> Iterator[tuple[str, str]]:
    """Endless (message, solution) of training problems, every domain equally often."""
    rng = random.Random(seed)
    streams = [stream(name, seed, test=False) for name in DOMAINS]
    while True:
        problem = next(rng.choice(streams))
        yield PROMPT.format(question=problem.question), problem.solution


def columns(prompt: list[int], reply: list[int], number: int, prompt_too: bool) -> np.ndarray:
    """One document as it stands in a packed row, shape (4, n): token, label, position, document number.

    The label of a token is the next token if the assistant says it, or `prompt_too`; else IGNORED.
    """
    n = len(prompt) + len(reply)
    told = prompt[1:] if prompt_too else [IGNORED] * (len(prompt) - 1)
    return np.array([prompt + reply, told + reply + [IGNORED], range(n), [number] * n])


def packed_rows(
    pairs: Iterable[tuple[str, str]],
    beginning: str,
    tokenizer: PreTrainedTokenizerFast,
    row_tokens: int = 384,
    prompt_too: bool = False,
) -> Iterator[np.ndarray]:
    """Rows of whole training documents, shape (4, row_tokens), as long as there are pairs.

    The loss is on replies, or `prompt_too`. All prompts begin alike: a row states the `beginning` once, as document 0,
    which all its documents see.
    """
    shared = tokenizer(beginning)["input_ids"]
    padding = np.array([[tokenizer.pad_token_id], [IGNORED], [0], [-1]])
    parts, used = [columns(shared, [], 0, False)], len(shared)

    def row() -> np.ndarray:
        return np.concatenate([*parts, np.repeat(padding, row_tokens - used, axis=1)], axis=1)

    for prompt, reply in tokenized(pairs, tokenizer):
        part = columns(prompt, reply, len(parts), prompt_too)[:, len(shared) :]
        if used + part.shape[1] > row_tokens:
            yield row()
            parts, used = parts[:1], len(shared)
            part[3] = 1
        parts.append(part)
        used += part.shape[1]
    yield row()
