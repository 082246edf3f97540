"""Stage `engine_pass` with the family `forced_answer`, by an engine that needs no model."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from asked_items import write_traces
from fake_engine import VOCABULARY, FakeEngine, distribution, prompt_hash
from item_files import write_items

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.signal_schema import signal_contract
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS
from entropy_sentinel.study.stages import engine_pass
from entropy_sentinel.study.stages.signal_stage import write_signals

BOX = [ord(one) for one in "\\boxed{"]
ASKED = {"answers": ["own", "reference", "none"], "positions": "all", "options": False}


def settings(**changes: Any) -> dict[str, Any]:
    asked_with = {"engine": "vllm", "local": True, "model": "tiny", "engine_args": {}, "messages": MESSAGES}
    return {"family": "forced_answer", "version": 1, "asked_with": asked_with, "settings": ASKED | changes}


MESSAGES = [{"role": "user", "content": "{question}"}]


class Files:
    """Items, traces and the place of the pass in a study's folder."""

    def __init__(self, folder: Path, responses: list[tuple[str, str | None]], **columns: list[Any]) -> None:
        """`responses` are texts with references; `columns` are those of traces that differ."""
        n = len(responses)
        folder.mkdir(exist_ok=True)
        self.generations = str(folder / "traces.parquet")
        ids, questions = [f"a-{i:05d}" for i in range(n)], columns.pop("question", [f"q{i:04d}?" for i in range(n)])
        self.benchmark = write_items(folder, ids, question=questions, reference=[one for _, one in responses])
        given = [(item, 0, asked[:5], text) for item, asked, (text, _) in zip(ids, questions, responses, strict=True)]
        write_traces(self.generations, given, **columns)
        self.output = str(folder / "study" / "passes" / "forced_answer" / "tiny" / "a.parquet")

    def ask(self, output: str | None = None, **changes: Any) -> pl.DataFrame:
        """The rows of the pass."""
        Path(output or self.output).parent.mkdir(parents=True, exist_ok=True)
        engine_pass.write_engine_pass(self.benchmark, self.generations, settings(**changes), 1, output or self.output)
        return FORCED_ANSWERS.read(output or self.output)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[FakeEngine]]:
    """Engines that the stage is given, one after the other; none may be left."""
    waiting: list[FakeEngine] = []
    monkeypatch.setattr(engine_pass, "make_engine", lambda settings, threads: waiting.pop(0))
    yield waiting
    assert waiting == []


def entropy_bits(context: list[int]) -> float:
    """By the definition, over the 20 most likely tokens."""
    p = np.exp(distribution(context).logprobs.astype(float))
    return float(-(p * np.log2(p)).sum())


def test_every_context_is_prompt_response_and_box_by_token_ids(tmp_path: Path, engines: list) -> None:
    engines.append(engine := FakeEngine())
    text = "so 17. \\boxed{42} ok"
    frame = Files(tmp_path, [(text, "137")]).ask()
    length = text.index("2") + 1  # T: up to the answer's last token, not the box's end
    prompt, x = [ord(one) for one in "q0000"], [ord(one) for one in text]
    after = {"own": BOX + [ord("4")], "reference": BOX + [ord("1"), ord("3")], "none": BOX}
    assert frame["answer"].to_list() == list(after)
    assert sorted(engine.contexts) == sorted(
        prompt + x[:t] + forced for forced in after.values() for t in range(1, length)
    )
    for row in frame.iter_rows(named=True):
        expected = [entropy_bits(prompt + x[:t] + after[row["answer"]]) for t in range(1, length)]
        assert row["positions"] == list(range(1, length))
        np.testing.assert_allclose(row["entropies"], expected, rtol=1e-6)
        assert row["eas"] == pytest.approx(sum(expected), rel=1e-9)
        assert row["mean_eas"] == pytest.approx(sum(expected) / (length - 1), rel=1e-9)
        assert row["tokens_to_answer"] == length
    assert frame["answer_tokens"].to_list() == [2, 3, 0]
    assert frame["answer_text"].to_list() == ["42", "137", None]


def test_the_missing_probability_and_its_bound_by_definition(tmp_path: Path, engines: list) -> None:
    engines.append(FakeEngine())
    row = Files(tmp_path, [("a\\boxed{42}", None)]).ask(answers=["own"]).row(0, named=True)
    context = [ord(one) for one in "q0000a"] + BOX + [ord("4")]
    eps = 1 - np.exp(distribution(context).logprobs.astype(float)).sum()
    assert eps > 0.01
    assert row["missing_masses"][0] == pytest.approx(eps, rel=1e-5)
    assert row["bounds"][0] == pytest.approx(eps * np.log2((VOCABULARY - 20) / eps), rel=1e-5)
    assert row["eas_bound"] == pytest.approx(sum(row["bounds"]), rel=1e-5)


def test_equal_answers_are_asked_about_once(tmp_path: Path, engines: list) -> None:
    engines.append(engine := FakeEngine())
    frame = Files(tmp_path, [("well: \\boxed{C}", "C")]).ask()
    assert len(engine.contexts) == len("well: \\boxed{C}") - 2
    assert frame["eas"].n_unique() == 1
    assert frame["answer_tokens"].to_list() == [1, 1, 0]


def test_a_response_that_cannot_be_asked_about_says_why(tmp_path: Path, engines: list) -> None:
    engines.append(FakeEngine(unknown="€", longest=40))
    responses = [
        ("I cannot say.\nIt is open", "1"),
        ("\\boxed{1} first", None),
        ("x\\boxed{}", "1"),
        ("7", "7"),
        ("a \\boxed{€5}", "5"),
        ("a" * 60 + "\\boxed{1}", "1"),
        ("", "1"),
    ]
    refused = ["stop"] * 6 + ["refused: prompt of 5,000 tokens"]
    ids = [[ord(char) for char in text] for text, _ in responses[:-1]] + [None]
    frame = Files(tmp_path, responses, finish_reason=refused, token_ids=ids).ask(answers=["own", "reference"])
    reasons = dict(zip(frame.select("item_id", "answer").rows(), frame["reason"], strict=True))
    own = [reasons[f"a-{n:05d}", "own"] for n in range(7)]
    assert own == [
        "no final answer",
        None,
        "the answer is empty",
        "the final answer ends with the first token",
        "the answer cannot be tokenised: '€5'",
        "refused: too long",
        "refused: prompt of 5,000 tokens",
    ]
    assert [reasons[f"a-{n:05d}", "reference"] for n in (1, 2, 4)] == ["the item has no reference", None, None]
    without = frame.filter(pl.col("reason").is_not_null())
    assert without.select("positions", "entropies", "eas", "mean_eas").null_count().row(0) == (len(without),) * 4


def test_traces_without_token_ids_need_no_engine(
    tmp_path: Path, engines: list, caplog: pytest.LogCaptureFixture
) -> None:
    files = Files(tmp_path, [("\\boxed{1}", "1"), ("\\boxed{2}", "1")], token_ids=[None, None])
    frame = files.ask(answers=["own"])
    assert frame["reason"].to_list() == ["the trace has no token ids"] * 2
    assert "2 of 2 responses cannot be asked about: the trace has no token ids" in caplog.text


def test_another_prompt_than_the_one_answered_is_an_error(tmp_path: Path, engines: list) -> None:
    engines += [FakeEngine(), FakeEngine()]
    responses = [("a \\boxed{1}", "1"), ("a \\boxed{2}", "1")]
    right = prompt_hash([ord(one) for one in "q0000"])
    frame = Files(tmp_path / "one", responses, prompt_hash=[right, "f" * 16]).ask(answers=["own"])
    assert frame["reason"].to_list() == [None, "the prompt is not the one that was answered"]
    with pytest.raises(ConfigError, match="models.tiny: none of 2 prompts .*prompt_hash"):
        Files(tmp_path / "none", responses, prompt_hash=["f" * 16] * 2).ask()


def test_a_tokenizer_without_a_box_is_an_error(tmp_path: Path, engines: list) -> None:
    engines.append(FakeEngine(unknown="\\"))
    with pytest.raises(ConfigError, match=r"models.tiny: .*'\\boxed\{'"):
        Files(tmp_path, [("a \\boxed{1}", "1")]).ask()


@pytest.mark.parametrize(
    ("merges", "answer", "forced", "length"),
    [
        # The answer's end and the closing brace are one token: the answer's last one.
        ({"}}": 400}, "{a}", "\\boxed{{a", 3),
        # The brace and the answer's beginning are one token: it is the answer's.
        ({"{\\": 401}, "\\pi", "\\boxed{\\p", 3),
        # So alone it would leave no brace: the box is put in as it is by itself.
        ({"{x": 402}, "x", "\\boxed{", 1),
        ({"42": 403}, "42", "\\boxed{", 1),
    ],
)
def test_tokens_that_join_a_brace_with_the_answer(
    tmp_path: Path, engines: list, merges: dict[str, int], answer: str, forced: str, length: int
) -> None:
    engines.append(engine := FakeEngine(merges=merges))
    row = Files(tmp_path, [("a \\boxed{7}", answer)]).ask(answers=["reference"]).row(0, named=True)
    texts = {number: text for text, number in merges.items()}
    written = ["".join(texts.get(one, chr(one)) for one in context) for context in engine.contexts]
    assert written[0] == f"q0000a{forced}"
    assert row["answer_tokens"] == length


def test_options_have_their_probabilities_at_each_position(tmp_path: Path, engines: list) -> None:
    engines += [FakeEngine(), FakeEngine()]
    question = ["q0000 which?\nA. one\nB. two"]
    responses = [("hm \\boxed{B}", "A")]
    row = Files(tmp_path, responses, question=question).ask(answers=["own"], options=True).row(0, named=True)
    assert row["options"] == ["A", "B"]
    for letter, result in zip("AB", row["option_probabilities"], strict=True):
        for t, probability in enumerate(result, 1):
            message = distribution([ord(one) for one in "q0000" + "hm \\boxed{B}"[:t]] + BOX)
            place = np.flatnonzero(message.token_ids == ord(letter))
            expected = None if not len(place) else pytest.approx(np.exp(message.logprobs[place[0]]), rel=1e-5)
            assert probability == expected
    long = Files(tmp_path / "other", [("hm \\boxed{12}", "A")], question=question).ask(answers=["own"], options=True)
    assert long["options"].to_list() == [None], "after the first digit the letters are no options"


def test_fewer_positions_estimate_the_whole_area(tmp_path: Path, engines: list) -> None:
    engines += [FakeEngine(), FakeEngine()]
    text = "First. Then it is 3.5 or so.\nNow \\boxed{42}"
    for place, (which, expected) in enumerate({3: [*range(1, 42, 3), 41], "sentence-ends": [1, 6, 28, 29, 41]}.items()):
        row = Files(tmp_path / str(place), [(text, None)]).ask(answers=["own"], positions=which).row(0, named=True)
        assert row["tokens_to_answer"] == 42
        assert row["positions"] == expected
        # The trapezoid rule, and half of both ends besides: the sum over every t of the line through the known ones.
        h, t = np.array(row["entropies"], dtype=float), np.array(expected)
        trapezoid = float((np.diff(t) * (h[:-1] + h[1:]) / 2).sum()) + (h[0] + h[-1]) / 2
        assert row["eas"] == pytest.approx(trapezoid, rel=1e-5)
        assert row["mean_eas"] == pytest.approx(row["eas"] / 41)


def test_a_pass_goes_on_where_it_was_interrupted(
    tmp_path: Path, engines: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    """test_killed_passes.py compares the file with that of a pass that was left alone."""
    monkeypatch.setattr(engine_pass, "PART_TOKENS", 50)
    files = Files(tmp_path, [(f"step {i}. so \\boxed{{{i}}}", str(i)) for i in range(12)])
    engines += [stopped := FakeEngine(stop_after=100), last := FakeEngine()]
    with pytest.raises(KeyboardInterrupt):
        files.ask()
    before = files.ask()
    assert 0 < len(last.contexts) <= sum(before["positions"].list.len()) - len(stopped.contexts) + 100
    assert read_provenance(files.output)["pass_facts"]["engine"] == "fake"
    Path(files.output).unlink()
    assert files.ask().equals(before), "no engine is left: an earlier run has finished it"


def test_other_settings_or_responses_ask_again(tmp_path: Path, engines: list) -> None:
    files = Files(tmp_path, [("so \\boxed{1}", "2")])
    for changes in ({"answers": ["own"]}, {"answers": ["none"]}):
        engines.append(FakeEngine())
        Path(files.output).unlink(missing_ok=True)
        assert files.ask(**changes)["answer"].to_list() == changes["answers"]
    engines.append(FakeEngine())
    Path(files.output).unlink()
    assert Files(tmp_path, [("yes \\boxed{1}", "2")]).ask(answers=["none"])["eas"].null_count() == 0


def test_the_signals_are_of_the_own_answer(tmp_path: Path, engines: list) -> None:
    engines += [FakeEngine(), FakeEngine()]
    files = Files(tmp_path, [("so \\boxed{1}", "2"), ("I do not know.\nIt is hard", "2")])
    output = str(tmp_path / "signals.parquet")
    own = files.ask().filter(answer="own")
    write_signals("forced_answer", files.generations, output, asked=files.output)
    result = signal_contract(FAMILIES["forced_answer"]).check(pl.read_parquet(output))
    assert result["eas"].to_list() == own["eas"].to_list()
    assert result["mean_eas"].to_list() == own["mean_eas"].to_list()
    assert result["eas_reason"].to_list() == [None, "no final answer"]
    Path(files.output).unlink()
    files.ask(answers=["reference"])
    write_signals("forced_answer", files.generations, output, asked=files.output)
    assert pl.read_parquet(output)["eas_reason"].to_list() == ["signals.forced_answer.answers has no 'own'"] * 2


def test_a_model_that_cannot_be_asked_has_rows_that_say_why(tmp_path: Path, engines: list) -> None:
    files = Files(tmp_path, [("so \\boxed{1}", "1"), ("\\boxed{2}", None)])
    Path(files.output).parent.mkdir(parents=True)
    why = "imported traces ('source') have no engine"
    nobody: Any = settings() | {"asked_with": {"engine": "source", "model": "theirs"}, "unaskable": why}
    engine_pass.write_engine_pass(files.benchmark, files.generations, nobody, 1, files.output)
    frame = FORCED_ANSWERS.read(files.output)
    assert frame["answer"].to_list() == ["own", "reference", "none"] * 2
    assert set(frame["reason"]) == {why}
    assert frame["eas"].null_count() == 6


def test_a_second_study_asks_nothing_unless_a_setting_differs(tmp_path: Path, engines: list) -> None:
    engines.append(FakeEngine())
    files = Files(tmp_path, [("so \\boxed{42}", "137"), ("\\boxed{7}", None)])
    second, third = (files.output.replace("/study/", f"/{name}/") for name in ("second", "third"))
    assert files.ask().equals(files.ask(second))
    engines.append(FakeEngine())
    assert files.ask(third, answers=["none"]).height < files.ask().height
