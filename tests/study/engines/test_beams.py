"""Beam search against its definition, on distributions over few tokens that a context seeds."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest

from entropy_sentinel.study.engines.beam_searching import BeamSearcher
from entropy_sentinel.study.engines.engine_interface import Beam, NextToken, refused_context

END = 0


def logprobs(context: Sequence[int], n: int) -> np.ndarray:
    """Those of all `n` tokens after a context."""
    seed = int.from_bytes(hashlib.sha256(str(list(context)).encode()).digest()[:8])
    p = np.random.default_rng(seed).dirichlet(np.ones(n))
    return np.log(p)


def ask(n: int, longest: int = 99) -> BeamSearcher:
    """A search among `n` tokens, letters by their number, without limits yet."""

    def next_tokens(contexts: Iterable[Sequence[int]]) -> Iterator[tuple[int, NextToken]]:
        for number, context in enumerate(contexts):
            result = logprobs(context, n)
            order = np.argsort(-result)
            message = NextToken(order.astype(np.uint32), result[order].astype(np.float32))
            yield number, refused_context("too long") if len(context) > longest else message

    def texts(sequences: Sequence[Sequence[int]]) -> list[list[str]]:
        return [[chr(ord("a") + id_) for id_ in ids] for ids in sequences]

    return BeamSearcher(next_tokens, texts, frozenset({END}), 1, 1)


def search(n: int, context: Sequence[int], width: int, max_tokens: int, stop: tuple[str, ...] = ()) -> list[Beam]:
    plain = ask(n)
    ((number, result),) = BeamSearcher(
        plain.next_tokens, plain.token_texts, plain.end_tokens, width, max_tokens, stop
    ).search([context])
    assert (number, result.refused) == (0, "")
    return list(result.beams)


def slow_beams(n: int, context: Sequence[int], width: int, max_tokens: int) -> list[tuple[float, tuple[int, ...]]]:
    """Beam search by its definition, with all candidates of each step and nothing left out early."""
    running: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished = []
    for _ in range(max_tokens):
        longer = []
        for value, tokens in running:
            after = logprobs([*context, *tokens], n)
            longer += [(value + after[token], (*tokens, token)) for token in range(n)]
        finished += [one for one in longer if one[1][-1] == END]
        running = sorted((one for one in longer if one[1][-1] != END), reverse=True)[:width]
    return sorted(finished + running, reverse=True)[:width]


# Of three tokens at most 8 sequences are unfinished after three steps: nothing is left out.
@pytest.mark.parametrize(("n", "width", "max_tokens"), [(12, 1, 7), (12, 2, 7), (12, 5, 7), (3, 8, 4)])
@pytest.mark.parametrize("context", [[1], [3, 4], [9]])
def test_what_is_dropped_early_would_not_have_been_found(
    context: list[int], n: int, width: int, max_tokens: int
) -> None:
    expected = slow_beams(n, context, width, max_tokens)
    result = search(n, context, width, max_tokens)
    assert [one.token_ids for one in result] == [tokens for _, tokens in expected]
    np.testing.assert_allclose([one.logprob for one in result], [value for value, _ in expected], rtol=1e-6)
    assert [one.finish_reason for one in result] == ["stop" if one.token_ids[-1] == END else "length" for one in result]
    for one in result:
        assert one.text == "".join(chr(ord("a") + token) for token in one.token_ids if token != END)


def test_a_text_ends_a_beam_and_is_not_in_its_own() -> None:
    """As if the token were an end token, but for the text."""
    with_text = search(5, [1], width=4, max_tokens=6, stop=("c", "zz"))
    assert {one.finish_reason for one in with_text} == {"stop"}
    for one in with_text:
        last = "abcde"[one.token_ids[-1]]
        assert last in "ac"
        assert one.text == "".join("abcde"[token] for token in one.token_ids[:-1])
        steps = [logprobs([1, *one.token_ids[:place]], 5)[token] for place, token in enumerate(one.token_ids)]
        assert one.logprob == pytest.approx(sum(steps), rel=1e-6)
    # Of two texts that end it at once, what is before both.
    both = [one for one in search(5, [1], width=8, max_tokens=6, stop=("c", "bc")) if one.token_ids[-2:] == (1, 2)]
    assert both
    assert [len(one.text) for one in both] == [len(one.token_ids) - 2 for one in both]


def test_a_context_without_room_is_refused_and_a_beam_ends_where_there_is_none_left() -> None:
    plain = ask(3, longest=3)
    result = dict(
        BeamSearcher(plain.next_tokens, plain.token_texts, plain.end_tokens, 2, 9).search([[1, 1, 1, 1], [1, 2]])
    )
    assert (result[0].beams, result[0].refused) == ((), "too long")
    assert result[1].refused == ""
    assert max(len(one.token_ids) for one in result[1].beams) <= 2
    assert all(one.finish_reason == "length" for one in result[1].beams if one.token_ids[-1] != END)


def test_a_width_that_twenty_tokens_do_not_suffice_for_is_an_error() -> None:
    with pytest.raises(ValueError, match="width: must be 1 to 10, half of the next tokens known, got 11"):
        search(3, [1], width=11, max_tokens=2)
