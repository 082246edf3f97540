"""Log-probabilities that are all 0: what a server did not compute, and what a model is truly certain of."""

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import entropy_sentinel as es
from entropy_sentinel.features.exclusion_reasons import ExclusionCode, exclusion_code, find_remedy
from entropy_sentinel.features.zero_logprobs import FEWEST_RESPONSES, LONGEST_CERTAIN, ZERO_LOGPROBS

# What servers write for tokens of probability 0, and what a softmax gives the alternatives of a certain token.
NOTHING = [-9999.0] * 4
COMPUTED = [-17.25, -18.5, -19.0, -21.5]
LONG = LONGEST_CERTAIN + 1


def response(n: int, others: list[float | None], sampled: float = 0.0, **more: Any) -> dict[str, Any]:
    steps = [[sampled, *others]] * n
    return {"token_logprobs": [sampled] * n, "top_logprobs": steps, "text": "Yes" * n, **more}


@pytest.mark.parametrize(
    ("others", "is_computed"),
    [
        (NOTHING, False),
        ([-math.inf] * 4, False),
        ([None] * 4, False),
        ([0.0] * 4, False),
        ([-100.0] * 4, False),
        ([-1e9] * 4, False),
        ([], False),
        (COMPUTED, True),
        ([-17.25, *NOTHING[1:]], True),  # cut by a filter
    ],
)
def test_a_response_of_zeros_has_no_features_unless_its_alternatives_were_computed(
    others: list[float | None], is_computed: bool
) -> None:
    log = [response(LONG, others, id="a"), response(LONG, COMPUTED, -0.5, id="b")]
    frame = es.read_logs(log)
    # Also traces that no log brought.
    for traces in (frame, frame.with_columns(unusable=pl.lit(None, pl.String))):
        reasons = es.features(traces)["reason"].to_list()
        assert reasons == [None if is_computed else ZERO_LOGPROBS, None]


def test_a_certain_word_is_not_refused() -> None:
    """One alternative per token says nothing about the others; neither does a short response alone."""
    short = [response(LONGEST_CERTAIN, others, id=f"{n}") for n, others in enumerate(([], NOTHING))]
    assert es.features(es.read_logs(short))["reason"].to_list() == [None, None]
    step = response(LONG, NOTHING)
    step["top_logprobs"] = [[0.0, *COMPUTED], *step["top_logprobs"][1:]]
    assert es.features(es.read_logs(step))["reason"].to_list() == [None]


def test_a_file_of_short_responses_that_are_all_zero_is_refused(tmp_path: Path) -> None:
    few, many, among = tmp_path / "few.jsonl", tmp_path / "many.jsonl", tmp_path / "among.jsonl"
    rows = [response(1, NOTHING, id=f"{number}", model="m") for number in range(FEWEST_RESPONSES)]
    few.write_text("\n".join(map(json.dumps, rows[1:])))
    many.write_text("\n".join(map(json.dumps, rows)))
    among.write_text("\n".join(map(json.dumps, [*rows, response(1, COMPUTED, id="x", model="m")])))
    reasons = {path.stem: set(es.read_features(path)["reason"]) for path in (few, many, among)}
    assert reasons == {"few": {None}, "many": {ZERO_LOGPROBS}, "among": {None}}
    # Longer ones show that the server does so, even if it computes others.
    longer = [response(LONG, NOTHING, id=f"l{number}", model="m") for number in range(FEWEST_RESPONSES)]
    among.write_text("\n".join(map(json.dumps, [*rows, *longer, response(1, COMPUTED, id="x", model="m")])))
    assert es.read_features(among)["reason"].to_list() == [ZERO_LOGPROBS] * 2 * FEWEST_RESPONSES + [None]
    # Another model of the same file is judged on its own.
    with many.open("a") as log:
        log.write("\n" + json.dumps(response(1, NOTHING, id="y", model="other")))
    assert es.read_features(many).filter(item_id="y")["reason"].to_list() == [None]


def test_a_longer_file_is_refused_to_its_last_response(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last frame has fewer responses than the rule needs, so it follows those before it."""
    monkeypatch.setattr("entropy_sentinel.logs.log_stream.RESPONSES_AT_A_TIME", FEWEST_RESPONSES)
    rows = [response(1, NOTHING, id=f"{number}") for number in range(FEWEST_RESPONSES + 2)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert es.read_features(tmp_path / "log.jsonl")["reason"].to_list() == [ZERO_LOGPROBS] * len(rows)


def test_the_exclusion_has_a_code_and_a_remedy() -> None:
    assert exclusion_code(ZERO_LOGPROBS) is ExclusionCode.ZERO_LOGPROBS
    assert str(ExclusionCode.ZERO_LOGPROBS) == "zero-logprobs"
    assert "raw_logprobs" in str(find_remedy(ZERO_LOGPROBS))
    assert exclusion_code("empty response") is None
