"""Answers mean the same where a classifier says that each entails the other: on a real one, whose weights are made."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from text_models import MNLI, entailing, entails, random_classifier, random_encoder
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.semantic_clustering.backend_interface import Pair, Question, make_backend
from entropy_sentinel.study.semantic_clustering.backend_settings import Grouping
from entropy_sentinel.study.semantic_clustering.greedy_clustering import cluster_answers
from entropy_sentinel.study.semantic_clustering.nli_backend import NliBackend

pytestmark = pytest.mark.slow  # torch is loaded

# What words are worth: the question nothing, so that answers decide.
WORTH = {"which": 0.0, "one": 0.0, "red": 0.9, "crimson": 0.8, "colour": 0.1, "navy": -0.7, "blue": -0.6, "grey": 0.3}
WHICH = Question("which one")


def load(folder: Path, **settings: object) -> NliBackend:
    section = Grouping(backend="nli", path=str(folder))
    result = make_backend({**section.model_dump(), "revision": folder.name, "revisions": "", **settings})  # type: ignore[typeddict-item]
    assert isinstance(result, NliBackend)
    return result


def counts(backend: NliBackend) -> tuple[int, int]:
    """Pairs of texts that the classifier was asked about, and that were known."""
    return backend.provenance["pairs_asked"], backend.provenance["pairs_saved"]


def slowly(folder: Path, first: str, second: str) -> str:
    """The likeliest label of one pair, by Transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        logits = model(**tokenizer(first, second, return_tensors="pt")).logits[0]
    return str(model.config.id2label[int(logits.argmax())])


def test_what_is_entailed_is_what_the_weights_were_set_for(tmp_path: Path) -> None:
    folder = entailing(tmp_path / "classifier", WORTH)
    answers = ["red", "crimson", "colour", "navy", "blue", "grey"]
    pairs = [Pair(WHICH, *two) for two in permutations(answers, 2)]
    asked = {(pair.first, pair.second): (f"which one {pair.first}", f"which one {pair.second}") for pair in pairs}
    expected = [entails(WORTH, *asked[one, other]) and entails(WORTH, *asked[other, one]) for _, one, other in pairs]
    one_way = sum(entails(WORTH, *texts) for texts in asked.values())
    assert 0 < sum(expected) < one_way < len(pairs)  # all three kinds are there
    assert load(folder).same(pairs) == expected
    for texts in asked.values():
        assert slowly(folder, *texts) == ("ENTAILMENT" if entails(WORTH, *texts) else "NEUTRAL")


@pytest.mark.parametrize("labels", [MNLI[::-1], ("entailment", "neutral", "contradiction"), ("Neutral", *MNLI[::2])])
def test_the_label_is_found_by_its_name(labels: tuple[str, ...], tmp_path: Path) -> None:
    backend = load(entailing(tmp_path / "classifier", WORTH, labels))
    assert backend.same([Pair(WHICH, "red", "crimson"), Pair(WHICH, "red", "navy")]) == [True, False]


def test_only_the_pairs_that_can_still_be_one_are_asked_back(tmp_path: Path) -> None:
    folder = entailing(tmp_path / "classifier", WORTH)
    asked = [(WHICH, ["red", "crimson", "navy", "red", "blue"]), (WHICH, ["crimson", "red"])]
    backend = load(folder)
    assert cluster_answers(asked, backend) == [[0, 0, 1, 0, 2], [0, 0]]
    # There: red with crimson, navy and blue, crimson with red; then navy with blue. Back: crimson with red and red with
    # crimson, which are known by then.
    assert counts(backend) == (5, 2)
    again = load(folder)
    assert cluster_answers(asked, again) == [[0, 0, 1, 0, 2], [0, 0]]
    assert counts(again) == (0, 7)


def test_batches_say_what_single_pairs_say(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(30)]
    folder, generator = random_classifier(tmp_path / "classifier", words), np.random.default_rng(1)
    texts = [" ".join(generator.choice(words, size=size)) for size in generator.integers(1, 9, size=40)]
    pairs = [Pair(Question("w0 w1"), one, other) for one, other in zip(texts[::2], texts[1::2], strict=True)]
    expected = []
    for _, one, other in pairs:
        there = slowly(folder, f"w0 w1 {one}", f"w0 w1 {other}")
        back = slowly(folder, f"w0 w1 {other}", f"w0 w1 {one}")
        expected.append(there == back == "ENTAILMENT")
    assert load(folder, batch_size=7).same(pairs) == expected


def test_truncated_pairs_are_counted(tmp_path: Path) -> None:
    backend = load(entailing(tmp_path / "classifier", WORTH))
    backend.same([Pair(Question("which " * 80), "red", "navy"), Pair(WHICH, "navy", "blue")])
    assert backend.provenance["cut"] == 1


def test_a_classifier_without_an_entailment_label(tmp_path: Path) -> None:
    folder = random_classifier(tmp_path / "classifier", ["red"], ("negative", "positive"))
    message = (
        r"classifier: one of the classifier's labels must be called 'entailment', they are negative, positive; use"
    )
    with pytest.raises(InputError, match=message):
        load(folder)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    folder = entailing(tmp_path / "classifier", WORTH)
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match="classifier: must be weights for Transformers"):
        load(folder)
    with pytest.raises(InputError, match="nothing: must be weights for Transformers"):
        load(tmp_path / "nothing")


def test_weights_without_a_classifier_are_refused(tmp_path: Path) -> None:
    """Transformers would draw the classifier at random, and warn."""
    folder = random_encoder(tmp_path / "encoder", ["red"])
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "id2label": dict(enumerate(MNLI))}))
    with pytest.raises(InputError, match=r"encoder: has no weights for classifier\.bias, classifier\.weight"):
        load(folder)
