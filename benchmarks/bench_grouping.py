"""Measure the cost of grouping the answers to a question: pairs compared, pairs saved by the cache, and CPU time.

Answers are made up: each question has several meanings, likely ones first, each in several wordings, so the sizes of
classes are like those of sampled answers. For the cost, the classifier is a BERT of the given size with random weights;
for the classes, it answers "entailment" for equal meanings, so there are as many pairs as with a perfect classifier. A
second model answers the same questions, so many of its pairs are known. Run by `make bench-grouping`; prints one JSON
object as its last line. ARGS="--weights folder" uses a real classifier and its own decisions.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from order_dependence import order_dependence
from text_models import MNLI, saved
from transformers import BertConfig, BertForSequenceClassification

from entropy_sentinel.study.semantic_clustering.backend_interface import Question
from entropy_sentinel.study.semantic_clustering.greedy_clustering import AnsweredQuestion, cluster_answers
from entropy_sentinel.study.semantic_clustering.nli_backend import NliBackend
from entropy_sentinel.study.semantic_clustering.pair_scores import TextPair
from entropy_sentinel.study.semantic_clustering.text_encoders import PairClassifier, Weights

WORDS = [f"{kind}{number}" for kind in ("meaning", "wording", "question") for number in range(200)]


class ByMeaning(PairClassifier):
    """Runs the model, but returns "entailment" if the first words of the answers, which mark the meaning, are equal."""

    def logits(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """(n_pairs, 3)."""
        result = super().logits(pairs)
        same = [first.split()[-2] == second.split()[-2] for first, second in pairs]
        result[:, 2] = np.where(same, result.max(axis=1) + 1, result.min(axis=1) - 1)
        return result


def answers(generator: np.random.Generator, n: int, meanings: int, wordings: int) -> list[str]:
    """N sampled answers: the k-th meaning is 1/k as likely as the first; its wordings follow the same law."""

    def drawn(size: int) -> np.ndarray:
        shares = 1 / np.arange(1, size + 1)
        return generator.choice(size, size=n, p=shares / shares.sum())

    return [f"meaning{one} wording{other}" for one, other in zip(drawn(meanings), drawn(wordings), strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--meanings", type=int, default=6)
    parser.add_argument("--wordings", type=int, default=3)
    parser.add_argument("--hidden", type=int, default=128, help="width of the classifier; 4 layers")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--weights", help="folder of a real classifier")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ENTROPY_SENTINEL_CACHE"] = folder
        weights = Weights(arguments.weights or str(made(Path(folder, "made"), arguments.hidden)), "classifier", "1")
        generator, told = np.random.default_rng(0), []
        for _ in range(2):
            backend = NliBackend(weights, arguments.batch_size)
            if not arguments.weights:
                backend._classifier.__class__ = ByMeaning
            asked: list[AnsweredQuestion] = [
                (
                    Question(f"question{number} question{number + 1}"),
                    answers(generator, arguments.samples, arguments.meanings, arguments.wordings),
                )
                for number in range(arguments.questions)
            ]
            start = time.process_time()
            result = cluster_answers(asked, backend)
            cpu_s, counts = time.process_time() - start, backend.provenance
            told.append(
                {
                    "classes_per_question": round(np.mean([max(one) + 1 for one in result]), 2),
                    "texts_per_question": round(np.mean([len(set(one)) for _, one in asked]), 2),
                    "pairs_asked_per_question": counts["pairs_asked"] / arguments.questions,
                    "pairs_saved_per_question": counts["pairs_saved"] / arguments.questions,
                    "cpu_s_per_question": round(cpu_s / arguments.questions, 4),
                }
            )
        order = order_dependence(asked, backend, orders=5)
        print(
            json.dumps(
                {
                    "benchmark": "grouping",
                    "pairs_of_all_samples_both_ways": arguments.samples * (arguments.samples - 1),
                    "first_model": told[0],
                    "second_model": told[1],
                    "other_order": {"changed": order.changed, "spread": order.spread},
                    **vars(arguments),
                }
            )
        )


def made(folder: Path, hidden: int) -> Path:
    """A BERT of four layers with random weights."""
    torch.manual_seed(0)
    shape = {"hidden_size": hidden, "intermediate_size": 4 * hidden, "num_hidden_layers": 4, "num_attention_heads": 4}
    config = BertConfig(vocab_size=len(WORDS) + 4, max_position_embeddings=64, **shape)
    config.id2label = dict(enumerate(MNLI))
    return saved(folder, BertForSequenceClassification(config), WORDS)


if __name__ == "__main__":
    main()
