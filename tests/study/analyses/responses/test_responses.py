"""Single responses: which are chosen, how their traces are read, and what a page and a terminal show."""

import io
import math
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import needs_browser
from observations import observations
from page_checks import inspect_page
from rich.console import Console

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.hub.token_texts import TokenTexts
from entropy_sentinel.rendering.terminal_text import print_parts
from entropy_sentinel.rendering.token_colours import FULL, split_tokens, token_entropy, truncate_text
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.estimate_schema import SCORES
from entropy_sentinel.schemas.generation_schema import GENERATIONS, TOP_K
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.signal_families.observation_frame import OBSERVATIONS
from entropy_sentinel.study.analyses.responses.response_page import render_page, write_page
from entropy_sentinel.study.analyses.responses.response_traces import (
    ResponseFiles,
    choose_responses,
    find_estimator,
    read_responses,
)
from entropy_sentinel.study.cli import response_terminal as terminal

ROOT = Path(__file__).parents[4]
TINY = str(ROOT / "demo/models/tiny-1m")
FOREST = "forest-10d-balanced-isotonic"
EVIL = '<script>alert("x")</script>&\'"'


def step(*probabilities: float) -> list[float]:
    """A step's 20 log-probabilities; the rest are of probability 0."""
    return [math.log(p) for p in probabilities] + [-9999.0] * (TOP_K - len(probabilities))


def generation(item: str, ids: list[int] | None, steps: list[list[float]], **columns: Any) -> dict[str, Any]:
    n_tokens = len(steps)
    row = {
        "item_id": item,
        "sample": 0,
        "seed": 1,
        "run": 0,
        "prompt_hash": "0",
        "prompt_tokens": 3,
        "n_tokens": n_tokens,
        "finish_reason": "stop",
        "text": "text",
        "trace_start": 0,
        "token_ids": ids,
        "token_logprobs": [step[0] for step in steps],
        "top_logprobs": steps,
        "top_token_ids": None,
        "displaced_steps": 0,
    }
    return row | columns


@pytest.fixture
def tokenizer():
    from tokenizers import Tokenizer

    return Tokenizer.from_file(f"{TINY}/tokenizer.json")


def written(
    folder: Path, rows: list[dict[str, Any]], origin: dict[str, Any], question: str = "How many?"
) -> dict[str, str]:
    """Files of benchmark `b` and model `m` with these responses, all wrong, of P(correct) 0.25."""
    paths = {
        name: str(folder / f"{name}.parquet")
        for name in ("benchmarks", "generations", "labels", "scores", "observations")
    }
    ids = [row["item_id"] for row in rows]
    items = {"item_id": ids, "question": question, "reference": "12", "duplicate_of": ids}
    BENCHMARKS.write(BENCHMARKS.frame(items), paths["benchmarks"], {})
    GENERATIONS.write(GENERATIONS.frame(rows), paths["generations"], {"model": "m", "benchmark": "b"} | origin)
    verdicts = {"item_id": ids, "sample": 0, "label": False, "reason": None, "answer": "13"}
    nothing = dict.fromkeys(name for name in LABELS.schema if name not in verdicts)
    LABELS.write(LABELS.frame(verdicts | nothing), paths["labels"], {})
    SCORES.write(SCORES.frame([("m", "b", id_, 0, FOREST, 0.25) for id_ in ids]), paths["scores"], {})
    frame = observations("b", len(ids), item_id=ids, label=[False] * len(ids))
    OBSERVATIONS.write(frame, paths["observations"], {})
    return paths


def files(paths: dict[str, str]) -> ResponseFiles:
    return ResponseFiles(paths["benchmarks"], paths["generations"], paths["labels"], paths["scores"])


def test_kinds_are_reported_by_probability_and_label():
    rows = observations("b", 5, label=[True, False, None, True, False], item_id=list("vwxyz"), lntp=[0.5] * 5)
    p = pl.DataFrame({"p": [0.9, 0.8, 0.95, 0.2, 0.1]})
    scores = rows.select("model", "benchmark", "item_id", "sample").with_columns(p, estimator=pl.lit("e"))
    assert choose_responses(rows, scores, 1) == {
        ("x", 0): ["most certain"],
        ("z", 0): ["least certain"],
        ("w", 0): ["wrong but certain"],
        ("y", 0): ["right but uncertain"],
    }
    assert len(choose_responses(rows, scores, 2)) == 5


def test_equal_probabilities_and_none_are_ordered_by_lntp():
    rows = observations("b", 3, label=[True] * 3, item_id=list("xyz"), lntp=[0.2, 0.9, 0.5])
    scores = rows.select("model", "benchmark", "item_id", "sample").with_columns(p=pl.lit(1.0), estimator=pl.lit("e"))
    for given in (scores, SCORES.frame([])):
        chosen = choose_responses(rows, given, 1)
        assert chosen == {("y", 0): ["most certain"], ("x", 0): ["least certain", "right but uncertain"]}


def test_a_response_without_features_is_not_a_candidate():
    rows = observations("b", 2, item_id=list("xy"), feature_reason=["empty response", None])
    assert set(choose_responses(rows, SCORES.frame([]), 1)) == {("y", 0)}


def test_entropy_is_truncated_and_takes_impossible_tokens_as_nothing():
    # Half, a quarter, and a quarter that is not among the most likely: ln 2 / 2 + ln 4 / 4.
    assert token_entropy(step(0.5, 0.25)) == pytest.approx(math.log(2))
    assert token_entropy(step(1.0)) == 0
    assert token_entropy([-math.inf, 0.0]) == 0


def test_tokens_have_texts_probabilities_and_the_sampled_ones_name(tmp_path, tokenizer):
    ids = tokenizer.encode("19+22=41", add_special_tokens=False).ids
    steps = [step(0.5, 0.25)] * (len(ids) - 1) + [[math.log(0.25), math.log(0.75), *step(1)[1:-1]]]
    rows = [generation("b-0", ids, steps), generation("b-1", ids, steps)]
    paths = written(tmp_path, rows, {"weights": TINY})
    (response,) = read_responses(files(paths), [("b-1", 0), ("b-9", 0)], FOREST, 400, 2)
    assert "".join(token.text for token in response.tokens) == "19+22=41"
    assert [token.position for token in response.tokens] == [*range(1, len(ids) + 1)]
    assert response.tokens[0].entropy == pytest.approx(math.log(2))
    assert response.tokens[0].surprise == pytest.approx(math.log(2))
    assert [p for _, p in response.tokens[0].alternatives] == pytest.approx([0.5, 0.25])
    assert [text for text, _ in response.tokens[0].alternatives] == [response.tokens[0].text, None]
    assert "keep_top_token_ids" in render_page("l", "m", None, [("b", [(response, [])])], None, 2)
    assert (response.p_correct, response.verdict, response.reference, response.answer) == (
        0.25,
        "incorrect",
        "12",
        "13",
    )


def test_a_character_of_several_tokens_stands_at_the_last_one(tmp_path):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(models.BPE({one: n for n, one in enumerate(alphabet)}, []))
    bytewise.pre_tokenizer, bytewise.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    bytewise.save(str(tmp_path / "tokenizer.json"))
    ids = bytewise.encode("a\u20acb").ids  # the euro sign has three bytes
    assert TokenTexts({"weights": str(tmp_path)}).read_response({"tokens": None, "token_ids": ids}) == [
        "a",
        "",
        "",
        "\u20ac",
        "b",
    ]


def test_texts_that_the_trace_holds_need_no_tokenizer() -> None:
    row = {"tokens": ["18", " eggs"], "token_ids": None, "n_tokens": 2}
    assert TokenTexts({}).read_response(row) == ["18", " eggs"]
    assert TokenTexts({}).read_response(row | {"tokens": None}) == [None, None]


@pytest.mark.parametrize("kept", ["ids", "texts"])
def test_alternatives_have_texts_where_the_trace_keeps_them_or_their_ids(tmp_path, tokenizer, kept):
    ids = tokenizer.encode("19", add_special_tokens=False).ids
    others = [*reversed(ids), *range(TOP_K - 2)]
    columns = {"top_token_ids": [others] * 2}
    if kept == "texts":
        columns = {"tokens": ["1", "9"], "top_tokens": [["9", "1", *map(str, range(TOP_K - 2))]] * 2}
    row = generation("b-0", ids if kept == "ids" else None, [step(0.5, 0.25)] * 2, **columns)
    paths = written(tmp_path, [row], {"weights": TINY} if kept == "ids" else {})
    (response,) = read_responses(files(paths), [("b-0", 0)], FOREST, 400, 2)
    assert [text for text, _ in response.tokens[0].alternatives] == ["9", "1"]
    assert "keep_top_token" not in render_page("l", "m", None, [("b", [(response, [])])], None, 2)


@pytest.mark.parametrize(
    ("origin", "ids", "why"),
    [
        ({}, [5, 6], "the traces do not state which weights generated them"),
        ({"weights": "nobody/nothing", "commit": "0" * 40}, [5, 6], "there is no tokenizer.json for nobody/nothing"),
        ({"weights": TINY}, None, None),
    ],
)
def test_tokens_without_a_tokenizer_or_ids_are_positions_and_the_page_says_why(tmp_path, origin, ids, why):
    paths = written(tmp_path, [generation("b-0", ids, [step(0.5)] * 2)], origin)
    missing = TokenTexts(origin).missing
    (response,) = read_responses(files(paths), [("b-0", 0)], FOREST, 400, 2)
    assert [token.text for token in response.tokens] == [None, None]
    page = render_page("l", "m", FOREST, [("b", [(response, ["most certain"])])], missing, 2)
    assert (missing is None) == (why is None)
    assert why is None or missing.startswith(why)
    assert why is None or why in page
    assert ">1 </i>" in page


def test_the_middle_of_a_long_response_is_left_out(tmp_path):
    paths = written(tmp_path, [generation("b-0", [5] * 30, [step(0.5)] * 30)], {"weights": TINY})
    (response,) = read_responses(files(paths), [("b-0", 0)], FOREST, 10, 0)
    assert [token.position for token in response.tokens] == [1, 2, 3, 4, 5, 6, 7, 8, 29, 30]
    assert response.left_out == 20
    assert [len(part) for part in split_tokens(response.tokens)] == [8, 2]
    assert "20 tokens are left out" in render_page("l", "m", None, [("b", [(response, [])])], None, 0)


@needs_browser
def test_the_page_is_legible_where_tokens_have_the_strongest_colour(tmp_path):
    paths = written(tmp_path, [generation("b-0", [5] * 9, [step(*[0.05] * 20)] * 9)], {"weights": TINY})
    (response,) = read_responses(files(paths), [("b-0", 0)], FOREST, 10, 0)
    assert {token.entropy > 0.98 * FULL for token in response.tokens} == {True}
    page = tmp_path / "page.html"
    page.write_text(render_page("l", "m", None, [("b", [(response, ["least certain"])])], None, 0))
    assert inspect_page(page) == []


class Tags(HTMLParser):
    """Counts what a browser would make of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.attributes |= {name for name, _ in attrs}


def test_everything_on_the_page_is_escaped_and_nothing_is_loaded(tmp_path, tokenizer):
    ids = tokenizer.encode("<|end|>1", add_special_tokens=False).ids
    rows = [generation("b-0", ids, [step(0.5)] * len(ids), text=EVIL, finish_reason=EVIL)]
    paths = written(tmp_path, rows, {"weights": TINY}, question=EVIL)
    (response,) = read_responses(files(paths), [("b-0", 0)], FOREST, 400, 2)
    page = render_page(EVIL, EVIL, FOREST, [("b", [(response, [EVIL])])], EVIL, 2)
    tags = Tags(page)
    assert tags.found.count("script") == 1  # the page's own, which has none of their texts
    assert "alert" not in page.partition("<script>")[2].partition("</script>")[0]
    assert "link" not in tags.found
    assert {"src", "onclick", "onload"}.isdisjoint(tags.attributes)
    assert page.count("&lt;script&gt;") >= 6
    assert "http" not in page


def test_a_page_is_bounded(tmp_path):
    rows = [generation(f"b-{n:05}", [5] * 900, [step(*[0.05] * 20)] * 900, text="x" * 50_000) for n in range(30)]
    paths = written(tmp_path, rows, {"weights": TINY}, question="q" * 50_000)
    inputs = {name: [paths[name]] for name in ("benchmarks", "generations", "labels", "scores")}
    settings = {"label": "l", "model": "m", "estimator": FOREST, "per_kind": 1, "most_tokens": 400, "alternatives": 5}
    page = tmp_path / "page.html"
    write_page(inputs | {"observations": paths["observations"]}, ["b"], settings, str(page))
    # All are wrong: the most and the least certain, and the first of these once more.
    assert Tags(page.read_text()).found.count("article") == 2
    assert page.stat().st_size < 4 * 400 * 600
    assert truncate_text("x" * 2000) == "x" * 2000
    assert truncate_text("x" * 2001).endswith("... (1 more characters)")


def test_the_preferred_estimator_gives_p_correct_or_else_the_first(tmp_path):
    path = tmp_path / "scores.parquet"
    SCORES.write(SCORES.frame([("m", "b", "b-0", 0, name, 0.5) for name in ("baseline-mtp", FOREST)]), path, {})
    assert find_estimator(path, FOREST) == FOREST
    assert find_estimator(path, "atc-max") == "baseline-mtp"
    assert find_estimator(None, FOREST) is None


def study(paths: dict[str, str]) -> terminal.ModelFiles:
    names = ("benchmarks", "generations", "labels", "observations", "scores")
    return terminal.ModelFiles(*(paths[name] for name in names), FOREST)


def said(parts: list[terminal.Part]) -> str:
    stream = io.StringIO()
    print_parts(parts, stream)
    return stream.getvalue()


def test_a_terminal_shows_a_response_and_its_most_uncertain_tokens(tmp_path, tokenizer):
    ids = tokenizer.encode("19", add_special_tokens=False).ids
    assert len(ids) == 2
    paths = written(tmp_path, [generation("b-0", ids, [step(0.9, 0.1), step(0.5, 0.5)])], {"weights": TINY})
    text = said(terminal.describe_response(study(paths), "b", ("b-0", 0), "entropy", 1))
    assert "b-0, sample 0: incorrect" in text
    assert "P(correct) 0.250 by Random forest, 10D, balanced, isotonic." in text
    assert "Reference: 12; answer: 13" in text
    assert "\n19\n" in text
    last = text.splitlines()[-2].split()
    assert last[:5] == ["2", "'9'", "50.0%", "0.69", "0.69"]
    with pytest.raises(InputError, match="has no response to item 'b-7', sample 0; ids look like 'b-0'"):
        terminal.describe_response(study(paths), "b", ("b-7", 0), "entropy", 1)


def test_a_response_does_nothing_to_the_terminal(tmp_path, tokenizer):
    """Neither its text, nor its tokens and its question, nor what ended it."""
    evil = "\x1b[31m\x07\u202e"
    row = generation("b-0", [5, 6], [step(0.5, 0.5)] * 2, text=evil, finish_reason=evil, tokens=[evil, "b"])
    paths = written(tmp_path, [row], {}, question=evil)
    parts = terminal.describe_response(study(paths), "b", ("b-0", 0), "entropy", 2)
    text = said(parts)
    assert not set("\x1b\x07\u202e") & set(text)
    assert text.count("␛[31m") >= 3


def test_a_terminal_colours_by_uncertainty(tmp_path, tokenizer):
    ids = tokenizer.encode("19", add_special_tokens=False).ids
    paths = written(tmp_path, [generation("b-0", ids, [step(1.0), step(*[0.05] * 20)])], {"weights": TINY})
    (response,) = read_responses(files(paths), [("b-0", 0)], FOREST, 400, 2)
    # 20 equally likely tokens have an entropy of ln 20, all but full.
    assert response.tokens[1].entropy / FULL == pytest.approx(math.log(20) / 3)
    (span,) = terminal.colour_tokens(response, "entropy").spans
    assert (span.start, span.end) == (1, 2)
    assert span.style.bgcolor.get_truecolor() == (213, 94, 0)
    with Console(file=io.StringIO(), force_terminal=True, color_system="truecolor") as console:
        console.print(terminal.colour_tokens(response, "surprise"))


def test_a_terminal_lists_what_is_worth_a_look(tmp_path):
    paths = written(tmp_path, [generation(f"b-{n}", [5], [step(0.5)]) for n in range(4)], {"weights": TINY})
    text = said(terminal.list_candidates(study(paths), "b", 1))
    assert len([line for line in text.splitlines() if line.startswith("b-")]) == 2
    assert "most certain, wrong but certain" in text
    missing = study(paths | {"observations": str(tmp_path / "none.parquet")})
    with pytest.raises(InputError, match=r"none.parquet: does not exist"):
        terminal.list_candidates(missing, "b", 1)
