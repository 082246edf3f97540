"""Responses without a final answer in the accuracy analysis; accuracies worked out by hand."""

import pytest
from observations import observations

from entropy_sentinel.schemas.label_schema import NoAnswer
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_frames import DOMAINS
from entropy_sentinel.study.analyses.accuracy.measuring.accuracy_measures import build_domain_row
from entropy_sentinel.study.analyses.accuracy.unanswered_share import list_unanswered_domains, summarise_unanswered

# Ten responses: six correct, one incorrect with an answer, one that cannot be read, two without an answer.
REASONS = [None] * 7 + ["answer cannot be read", NoAnswer.CUT_OFF.value, NoAnswer.EMPTY.value]


@pytest.mark.parametrize(
    ("label", "setting", "n_null", "words"),
    [
        (None, "unlabelled", 3, "have no label and are in no accuracy (unanswered: unlabelled); as incorrect, "),
        (False, "incorrect", 1, "count as incorrect (unanswered: incorrect); without them, "),
    ],
)
def test_accuracies_with_either_setting(label: bool | None, setting: str, n_null: int, words: str) -> None:
    rows = observations("c", 10, label=[True] * 6 + [False, None, label, label], label_reason=REASONS)
    row = build_domain_row(rows)
    assert row["n_unlabelled"] == n_null
    assert ("empty response" in row["reasons"]) is (label is None)
    (domain,) = list_unanswered_domains(DOMAINS.frame([row]))
    assert (domain.model, domain.benchmark, domain.n, domain.n_unanswered, domain.setting) == ("m", "c", 10, 2, setting)
    assert (domain.if_incorrect, domain.if_unlabelled) == (pytest.approx(6 / 9), pytest.approx(6 / 7))
    (line,) = summarise_unanswered([domain])
    direction = "lower" if label is None else "higher"
    expected = f"accuracies would be {direction} by up to 0.190 (m, c)."  # 6 / 7 - 6 / 9
    assert line == f"Responses without a final answer: 2 in 1 domains {words}{expected}"


def test_a_domain_with_answers_only_is_left_out() -> None:
    row = build_domain_row(observations("c", 3, label=[True, False, None], label_reason=[None, None, "no reference"]))
    assert list(list_unanswered_domains(DOMAINS.frame([row]))) == []
    assert summarise_unanswered([]) == []
