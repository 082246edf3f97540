"""Selection by hand: who is a candidate, in which order strategies take them, how selections differ."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from papers.selection.selection_files import make_training_rows, read_solutions
from papers.selection.selection_frames import CANDIDATES
from papers.selection.selection_strategies import CandidateFiles, StrategySelection, read_candidates, select_items
from papers.selection.selection_tables import count_domains, measure_overlaps, profile_selections
from selectable import ANSWERS, write_study_files

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[CandidateFiles]:
    return write_study_files(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def candidates(files: list[CandidateFiles]) -> pl.DataFrame:
    return read_candidates("m", files, 4, "own")


def chosen(candidates: pl.DataFrame, strategy: str, size: int = 100, seed: int = 0) -> StrategySelection:
    return select_items(candidates, strategy, size, seed, 4, "own")


def ids(selected: StrategySelection) -> list[str]:
    return selected.rows["item_id"].to_list()


def test_candidates_have_a_reference_and_a_question_of_their_own(candidates: pl.DataFrame) -> None:
    CANDIDATES.check(candidates)
    # b-00001 has no reference, b-00002 asks what a-00000 asks, b-00003 has no response.
    assert candidates["item_id"].to_list() == [*(f"a-0000{number}" for number in range(6)), "b-00000"]
    assert candidates["benchmark"].to_list() == [*"aaaaaab"]
    row = candidates.row(2, named=True)
    # ciii: the first try is right, the fifth sample (c) is no try.
    assert [row[name] for name in ("label", "passes", "pass_rate", "n_tokens", "eas")] == [True, 1, 0.25, 30, 3.0]
    no_label = candidates.row(5, named=True)
    assert (no_label["pass_rate"], no_label["passes"]) == (None, None)
    assert no_label["pass_rate_reason"] == "1 of 4 tries have no label"


def test_length_takes_the_longest_first_responses(candidates: pl.DataFrame) -> None:
    # Tokens of a-00000 to a-00005, b-00000: 10 20 30 50 40 60 55; later samples are ten times as long.
    result = chosen(candidates, "longest", 3)
    assert ids(result) == ["a-00005", "b-00000", "a-00003"]
    assert result.rows["score"].to_list() == [60, 55, 50]
    assert result.rows["reason"][1] == "55 tokens in the response, place 2 of 7"
    assert result.notes == []


def test_pass_rate_drops_0_and_1_and_takes_the_lowest(candidates: pl.DataFrame) -> None:
    result = chosen(candidates, "pass-rate", 5)
    # Rates 1, 0, 1/4, 3/4, 1/2, unknown and 1/4.
    assert set(ids(result)[:2]) == {"a-00002", "b-00000"}
    assert ids(result)[2:] == ["a-00004", "a-00003"]
    assert result.rows["score"].to_list() == [0.25, 0.25, 0.5, 0.75]
    assert result.rows["reason"][3] == "3 of 4 tries correct, place 4 of 4"
    assert result.notes == [
        "pass-rate: 4 candidates, fewer than the 5 requested: all are selected, and none are added",
        "pass-rate: items left out: 1 (1 of 4 tries have no label), 1 (all tries are correct), 1 (all tries are wrong)",
    ]


def test_eas_takes_the_highest_and_says_why_others_have_none(candidates: pl.DataFrame) -> None:
    result = chosen(candidates, "eas", 2)
    assert ids(result)[0] == "a-00005"
    assert result.rows["reason"][0] == "EAS 7.0 bits (own answer), place 1 of 6"
    assert chosen(candidates, "eas").excluded_counts == {"no final answer": 1}
    # Areas 1.5, none, 3, 3, 0.2, 7, 2.
    assert ids(chosen(candidates, "eas"))[3:] == ["b-00000", "a-00000", "a-00004"]


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_an_area_that_is_not_a_number_is_none(tmp_path: Path, value: float) -> None:
    files = write_study_files(tmp_path)
    passes = FORCED_ANSWERS.read(str(files[0].forced_answers))
    spoilt = passes.with_columns(eas=pl.when(item_id="a-00005").then(value).otherwise("eas"))
    FORCED_ANSWERS.write(spoilt, str(files[0].forced_answers), {})
    result = chosen(read_candidates("m", files, 4, "own"), "eas")
    # Areas 1.5, none, 3, 3, 0.2, 7, 2, of which the 7 is spoilt.
    assert result.rows["score"].to_list() == [3, 3, 2, 1.5, 0.2]
    assert result.excluded_counts == {"no final answer": 1, "the entropy area is not a finite number": 1}


@pytest.mark.parametrize(("strategy", "pair"), [("eas", ("a-00002", "a-00003")), ("pass-rate", ("a-00002", "b-00000"))])
def test_ties_go_by_the_order_of_random(candidates: pl.DataFrame, strategy: str, pair: tuple[str, str]) -> None:
    seen = set()
    for seed in range(12):
        drawn = [item for item in ids(chosen(candidates, "random", seed=seed)) if item in pair]
        assert [item for item in ids(chosen(candidates, strategy, seed=seed)) if item in pair] == drawn
        seen.add(tuple(drawn))
    assert len(seen) == 2


def test_random_is_uniform_and_depends_only_on_the_seed(candidates: pl.DataFrame) -> None:
    first = Counter(ids(chosen(candidates, "random", 1, seed))[0] for seed in range(700))
    # 100 each; 4 standard deviations of a binomial count are 4 sqrt(700 x 1/7 x 6/7) = 37.
    assert len(first) == 7
    assert all(abs(count - 100) < 37 for count in first.values())
    backwards = candidates.reverse()
    assert ids(chosen(backwards, "random", seed=3)) == ids(chosen(candidates, "random", seed=3))
    # A smaller selection is the beginning of a larger one.
    assert ids(chosen(candidates, "random", 3, seed=3)) == ids(chosen(candidates, "random", seed=3))[:3]
    assert chosen(candidates, "random", 3, seed=3).rows["reason"][2] == "number 3 of 7 drawn with seed 3"


def test_another_answer_has_other_areas(files: list[CandidateFiles]) -> None:
    result = select_items(read_candidates("m", files, 4, "reference"), "eas", 1, 0, 4, "reference")
    assert ids(result) == ["a-00004"]
    assert result.rows["reason"][0] == "EAS 9.0 bits (reference answer), place 1 of 7"
    with pytest.raises(ConfigError, match=r"answers own, reference, but not for 'none'; set signals"):
        read_candidates("m", files, 4, "none")


def test_without_labels_and_pass_the_others_continue(files: list[CandidateFiles]) -> None:
    bare = [CandidateFiles(file.items, file.generations) for file in files]
    result = read_candidates("m", bare, 4, "own")
    assert len(chosen(result, "random", 7).rows) == 7
    none = chosen(result, "pass-rate", 2)
    assert none.rows.is_empty()
    assert none.excluded_counts == {"no pass rate is asked for": 7}


def test_with_more_tries_than_responses_there_is_no_pass_rate(files: list[CandidateFiles]) -> None:
    result = read_candidates("m", files, 6, "own")
    assert result["pass_rate_reason"].to_list()[0] == "5 of 6 tries"
    assert result["pass_rate"].null_count() == 7


def test_a_study_without_references_has_nothing_to_train_on(tmp_path: Path) -> None:
    (only,) = write_study_files(tmp_path, ["b"], references=False)
    with pytest.raises(InputError, match="m: no item has a reference"):
        read_candidates("m", [only], 4, "own")


def test_overlap_is_counted_by_items(candidates: pl.DataFrame) -> None:
    parts = [chosen(candidates, "longest", 3), chosen(candidates, "pass-rate", 4), chosen(candidates, "eas", 1)]
    rows = measure_overlaps(pl.concat(part.rows for part in parts)).rows()
    # longest: a-5, b-0, a-3; pass-rate: a-2, b-0, a-4, a-3; eas: a-5.
    assert rows == [
        ("m", "longest", "pass-rate", 2, 2 / 5),
        ("m", "longest", "eas", 1, 1 / 3),
        ("m", "pass-rate", "eas", 0, 0.0),
    ]


def test_difficulty_and_length_are_means_of_what_is_known(candidates: pl.DataFrame) -> None:
    selected = chosen(candidates, "longest", 3).rows
    every, longest = profile_selections(candidates, selected).rows(named=True)
    assert (every["strategy"], every["items"], longest["items"]) == ("all", 7, 3)
    # a-5 has no rate, b-0 1/4, a-3 3/4; their first labels are c, i, i.
    assert (longest["pass_rate"], longest["accuracy"]) == (0.5, pytest.approx(1 / 3))
    assert longest["n_tokens"] == pytest.approx((60 + 55 + 50) / 3)
    assert longest["eas"] == pytest.approx((7 + 2 + 3) / 3)
    assert every["pass_rate"] == pytest.approx((1 + 0 + 0.25 + 0.75 + 0.5 + 0.25) / 6)
    assert count_domains(candidates, selected).rows() == [("m", "a", 6, 2), ("m", "b", 1, 1)]


def test_a_line_is_what_a_trainer_reads(candidates: pl.DataFrame) -> None:
    prompt: Any = {"prompt": "mine", "prompt_version": 1, "messages": [{"role": "user", "content": "Q: {question}"}]}
    first = next(iter(make_training_rows(candidates, chosen(candidates, "eas", 1).rows, prompt, {})))
    assert json.loads(json.dumps(first)) == {
        "messages": [{"role": "user", "content": "Q: a 5?"}, {"role": "assistant", "content": ANSWERS["a"][5]}],
        "question": "a 5?",
        "reference": ANSWERS["a"][5],
        "model": "m",
        "benchmark": "a",
        "item_id": "a-00005",
        "strategy": "eas",
        "rank": 1,
        "reason": "EAS 7.0 bits (own answer), place 1 of 6",
        "scores": {"n_tokens": 60, "passes": None, "pass_rate": None, "eas": 7.0},
    }
    plain: Any = {"prompt": "mine", "prompt_version": 1, "text": "Q: {question}\nA:"}
    first = next(iter(make_training_rows(candidates, chosen(candidates, "eas", 1).rows, plain, {})))
    assert (first["prompt"], first["completion"], "messages" in first) == ("Q: a 5?\nA:", ANSWERS["a"][5], False)


def test_solutions_are_what_is_trained_on(candidates: pl.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "solved.jsonl"
    path.write_text('{"question": "a 5?", "solution": "5 x 3 is 15"}\n{"question": "a 2?", "solution": "12"}\n')
    prompt: Any = {"prompt": "mine", "prompt_version": 1, "messages": [{"role": "user", "content": "{question}"}]}
    solutions = read_solutions([str(path)])
    (row,) = make_training_rows(candidates, chosen(candidates, "eas", 1).rows, prompt, solutions)
    assert (row["messages"][1]["content"], row["reference"]) == ("5 x 3 is 15", "15")
    with pytest.raises(InputError, match="solutions: .* item b-00000; .* 'b 0\\?'"):
        list(make_training_rows(candidates, chosen(candidates, "longest", 2).rows, prompt, solutions))
    path.write_text('{"question": "a 5?", "answer": "15"}\n')
    with pytest.raises(InputError, match="solved.jsonl, row 0: 'solution' must be text, got null"):
        read_solutions([str(path)])
