"""Train a tiny judge: a language model that says whether a response ends in the reference answer.

    python demo/train_judge.py --out demo/models/tiny-judge

lets the demo's models answer training problems, trains the judge on these responses (``exchanges.py``), and measures
how often it is right about fresh responses to held-out problems. The folder's README.md has the figures.
"""

import argparse
import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

from corpus import packed_rows, render, train_tokenizer
from exchanges import PROMPT, REPLIES, Answer, answer, exchange_texts, exchanges, exchange
from problems import DOMAINS, Problem, held_out, stream
from train import MEASURE_SEED, Settings, new_model, replies, sample, train

SETTINGS = Settings(hidden=128, layers=4, heads=4, feed_forward=352, steps=1000)
ANSWERING = ("tiny-1m", "tiny-3m")
TRAINING_PROBLEMS = 600  # per domain and answering model
MEASURED_PROBLEMS = 200
VOCABULARY = 512


def answers(problems: dict[str, list[Problem]], models: Path) -> Iterator[tuple[str, str, list[Answer]]]:
    """(model, domain, its answers to the domain's problems) of every answering model."""
    for name in ANSWERING:
        model = AutoModelForCausalLM.from_pretrained(models / name, dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(models / name)
        for domain, asked in problems.items():
            responses = sample(model, tokenizer, asked)
            yield name, domain, [answer(p, r) for p, r in zip(asked, responses, strict=True)]


def verdicts(
    model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerFast, shown: list[tuple[str, str]]
) -> list[bool | None]:
    """What the judge says of (response, reference); None for a reply that is none of the two."""
    messages = [PROMPT.format(response=response, reference=reference) for response, reference in shown]
    said = replies(model, tokenizer, messages, max_new_tokens=16, do_sample=False)
    return [{reply: verdict for verdict, reply in REPLIES.items()}.get(text) for text in said]
