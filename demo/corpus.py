"""Tokenizer and training rows for the tiny models: from problems to packed token ids."""

import itertools
import random
from collections.abc import Iterator

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


def train_tokenizer(seed: int, vocabulary: int = 640, per_domain: int = 1000) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with one token per digit, trained on training problems."""
    texts = [
        PROMPT.format(question=problem.question) + problem.solution
        for name in DOMAINS
        for problem in itertools.islice(stream(name, seed, test=False), per_domain)
    ]
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


def render(question: str, tokenizer: PreTrainedTokenizerFast) -> str:
    """The text the model continues: exactly what an engine sends for one user message."""
    message = {"role": "user", "content": PROMPT.format(question=question)}
    return tokenizer.apply_chat_template([message], tokenize=False, add_generation_prompt=True)


def documents(seed: int, tokenizer: PreTrainedTokenizerFast) -> Iterator[tuple[list[int], ...]]:
    """Endless (prompt, solution) token ids, every domain equally often; a solution ends in the eos token."""
    rng = random.Random(seed)
    streams = [stream(name, seed, test=False) for name in DOMAINS]
    while True:
        batch = [next(rng.choice(streams)) for _ in range(512)]  # the tokenizer is fast on many texts at once
        prompts = tokenizer([render(problem.question, tokenizer) for problem in batch])["input_ids"]
        solutions = tokenizer([problem.solution + EOS for problem in batch])["input_ids"]
        yield from zip(prompts, solutions, strict=True)


def columns(prompt: list[int], solution: list[int], number: int) -> np.ndarray:
    """One document as it stands in a packed row, shape (4, n): token, label, position, document number.

    The label of a token is the next token if the assistant says it, else IGNORED.
    """
    n = len(prompt) + len(solution)
    labels = [IGNORED] * (len(prompt) - 1) + solution + [IGNORED]
    return np.array([prompt + solution, labels, range(n), [number] * n])


def packed_rows(seed: int, tokenizer: PreTrainedTokenizerFast, row_tokens: int = 384) -> Iterator[np.ndarray]:
    """Endless rows of whole training documents, shape (4, row_tokens).

    All prompts begin alike: a row states the beginning once, as document 0, which all its documents see.
    """
    beginning = tokenizer(render("", tokenizer).split(":")[0] + ":")["input_ids"]
    padding = np.array([[tokenizer.pad_token_id], [IGNORED], [0], [-1]])
    parts, used = [columns(beginning, [], 0)], len(beginning)
    for prompt, solution in documents(seed, tokenizer):
        part = columns(prompt, solution, len(parts))[:, len(beginning) :]
        if used + part.shape[1] > row_tokens:
            yield np.concatenate([*parts, np.repeat(padding, row_tokens - used, axis=1)], axis=1)
            parts, used = parts[:1], len(beginning)
            part[3] = 1
        parts.append(part)
        used += part.shape[1]
