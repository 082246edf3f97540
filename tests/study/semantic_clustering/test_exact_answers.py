"""Answers that are the same text as SQuAD compares texts, or names of one right answer."""

import pytest

from entropy_sentinel.study.items.row_fields import normalise_answer
from entropy_sentinel.study.semantic_clustering.backend_interface import Pair, Question, make_backend
from entropy_sentinel.study.semantic_clustering.backend_settings import Grouping
from entropy_sentinel.study.semantic_clustering.exact_backend import ExactBackend


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The  Eiffel Tower!", "eiffel tower"),
        ("an apple, a day", "apple day"),
        ("U.S.A.", "usa"),
        ("the-theatre", "thetheatre"),
        ("1,000", "1000"),
        # Of a number the sign and the point stay.
        ("-5", "-5"),
        ("3.5.", "3.5"),
        ("well-known", "wellknown"),
        # Where nothing would be left.
        ("A", "a"),
        ("The", "the"),
        ("?!", "?!"),
    ],
)
def test_texts_are_normalised_like_squad(text: str, expected: str) -> None:
    assert normalise_answer(text) == expected


def test_names_of_one_right_answer_are_one() -> None:
    question = Question("Who?", (("Queen Elsa", "Elsa"), ("Anna", "elsa")))
    backend = ExactBackend()
    asked = [("the Elsa", "queen elsa"), ("Elsa", "Anna"), ("Anna", "anna."), ("Elsa", "Olaf"), ("Olaf", "olaf")]
    # The name that both have is the first one's.
    assert backend.same([Pair(question, *pair) for pair in asked]) == [True, False, True, False, True]
    assert backend.same([Pair(Question("Who?"), "Elsa", "Queen Elsa")]) == [False]


def test_the_exact_backend_is_the_default() -> None:
    section = Grouping()
    made = make_backend({**section.model_dump(), "revisions": ""})
    assert isinstance(made, ExactBackend)
    assert (made.provenance, section.weights) == ({"backend": "exact"}, None)


def test_weights_are_of_the_hub_or_of_a_folder() -> None:
    assert Grouping(backend="nli").weights == "microsoft/deberta-v2-xlarge-mnli"
    assert Grouping(backend="nli", path="here").weights is None
    assert Grouping(backend="nli", model="own/one").weights == "own/one"
    with pytest.raises(ValueError, match="'path' .*'model' and 'revision'"):
        Grouping(backend="nli", path="here", revision="main")
