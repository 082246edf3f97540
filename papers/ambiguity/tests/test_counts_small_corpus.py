"""Answers counted in a corpus that is small enough to count by hand."""

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from fake_api import Answer, completion, fake_api, ok, quiet_litellm
from papers.ambiguity.counts.corpus_index import MAX_CHARACTERS, open_index, read_chunks, split_paragraph
from typer.testing import CliRunner

from entropy_sentinel.cli.main import app, main
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.study.items import benchmark_rows as rows

FIRE = (
    "Fire needs heat,\nfuel and oxygen.\n\nA fire without fuel goes out.\n  \nFUELS burn.\n\n\n"
    "The Fires of Café Müller.\n"
)
WATER = [{"text": "Water puts out fire: it takes the heat.\n\nIce is water."}, {"text": "Heated water boils."}]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Six paragraphs with fire or water, and one with neither."""
    folder = tmp_path / "corpus"
    (folder / "more").mkdir(parents=True)
    (folder / "fire.txt").write_text(FIRE)
    with gzip.open(folder / "more" / "water.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in WATER)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def test_paragraphs_are_parted_by_blank_lines(corpus: Path) -> None:
    assert list(read_chunks(corpus / "fire.txt", "text")) == [
        "Fire needs heat, fuel and oxygen.",
        "A fire without fuel goes out.",
        "FUELS burn.",
        "The Fires of Café Müller.",
    ]
    assert len(list(read_chunks(corpus / "more" / "water.jsonl.gz", "text"))) == 3


def test_a_long_paragraph_is_split_at_ends_of_sentences_and_loses_nothing() -> None:
    sentences = [f"Sentence {i} has so many words." for i in range(200)]
    parts = list(split_paragraph([" ".join(sentences)]))
    assert len(parts) > 1
    assert all(len(part) <= MAX_CHARACTERS and part.endswith(".") for part in parts)
    assert " ".join(parts) == " ".join(sentences)
    # No two that stand together would have fitted into one.
    assert all(len(a) + 1 + len(b) > MAX_CHARACTERS for a, b in zip(parts, parts[1:], strict=False))
    # Where lines end makes no difference, within a sentence or between two.
    words = " ".join(sentences).split(" ")
    for n in (1, 3, 6, 50):
        assert list(split_paragraph(" ".join(words[start : start + n]) for start in range(0, len(words), n))) == parts
    assert list(split_paragraph(["word"] * MAX_CHARACTERS)) == [" ".join(["word"] * MAX_CHARACTERS)]


@pytest.mark.parametrize("name", ["long.txt", "long.jsonl", "long.txt.gz", "long.jsonl.gz"])
def test_a_line_without_end_is_refused_by_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(rows, "LONGEST_LINE", 1 << 20)
    opener = gzip.open if name.endswith(".gz") else open
    with opener(tmp_path / name, "wt") as file:
        file.write(json.dumps({"text": "Water."}) + "\n" + " " * (20 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=rf"{name}: line 2 has more than 1 MiB; break it into several lines"):
            list(read_chunks(tmp_path / name, "text"))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_paragraph_without_end_is_read_by_the_sentence(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("A sentence of some words\nover two lines.\n" * 40_000)
    tracemalloc.start()
    try:
        lengths = [len(chunk) for chunk in read_chunks(tmp_path / "long.txt", "text")]
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    # 50 sentences of 40 characters, and a space between each two.
    assert (max(lengths), sum(lengths) + len(lengths)) == (48 * 41 - 1, 40_000 * 41)


def test_counts_are_of_paragraphs_with_keywords_and_answer_by_stems(corpus: Path, tmp_path: Path) -> None:
    with open_index(tmp_path / "i", corpus, "text") as index:
        assert index.n_chunks == 7
        assert index.count(["fire"]) == 4  # `Fires` too
        assert index.count(["fire"], ["fuel"]) == 2  # `FUELS burn.` has no fire
        assert index.count(["fire"], ["heat"]) == 2
        assert index.count(["water"], ["heat"]) == 2  # `Heated`
        assert index.count(["fire"], ["water"], ["heat"]) == 1
        assert index.count(["fire"], ["heat", "fuel"]) == 3  # names of one answer: a paragraph with both counts once
        assert index.count(["cafe muller"]) == 1
        assert index.count(["muller cafe"]) == 0  # a phrase is in order
        assert index.count(['fire" OR "ice']) == 0  # text is never a part of the query language


def questions(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_leaves_out_what_is_never_seen(corpus: Path, tmp_path: Path) -> None:
    rows = questions(
        tmp_path / "rows.jsonl",
        {"question": "What does a fire need?", "keywords": "fire", "answers": ["fuel", ["heat", "warmth"], "oxygen"]},
        {"question": "What is water?", "keywords": ["water"], "answers": ["ice", "steam"]},
    )
    message = CliRunner().invoke(app, ["counts", str(rows), "--corpus", str(corpus), "-o", str(tmp_path / "out.jsonl")])
    (row,) = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert row["question"] == "What does a fire need?"
    assert row["counts"] == [2, 2, 1]
    assert "1 of 2 questions, counted in 7 paragraphs" in message.stdout
    assert message.stderr.startswith("1 left out")


def test_an_index_that_was_stopped_continues_and_counts_the_same(corpus: Path, tmp_path: Path) -> None:
    (corpus / "zz.txt").write_bytes(b"Fire.\n\nFire \xff.\n")
    with pytest.raises(InputError, match=r"zz.txt: line 3 must be UTF-8"), open_index(tmp_path / "i", corpus, "text"):
        pass
    (corpus / "zz.txt").write_bytes(b"Fire.\n\nFire 2.\n")
    with open_index(tmp_path / "i", corpus, "text") as index:
        assert (index.n_chunks, index.count(["fire"])) == (9, 6)
    with open_index(tmp_path / "i", corpus, "text") as index:
        assert (index.n_chunks, index.count(["fire"])) == (9, 6)


def test_an_index_of_another_corpus_and_a_folder_without_texts_are_refused(corpus: Path, tmp_path: Path) -> None:
    with open_index(tmp_path / "i", corpus, "text"):
        pass
    with pytest.raises(InputError, match="another --text"), open_index(tmp_path / "i", corpus, "body"):
        pass
    (corpus / "fire.txt").write_text("Nothing burns.\n")
    with pytest.raises(InputError, match=r"fire.txt has changed since"), open_index(tmp_path / "i", corpus, "text"):
        pass
    with (
        pytest.raises(InputError, match="must be a folder with files of"),
        open_index(tmp_path / "j", tmp_path / "a", "text"),
    ):
        pass
    (tmp_path / "no").write_text("no index, but long enough to be taken for one of SQLite's files" * 20)
    with pytest.raises(InputError, match="cannot be used as an index"), open_index(tmp_path / "no", corpus, "text"):
        pass


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"keywords": "fire"}, "row 1 has no column 'answers'"),
        ({"keywords": "", "answers": ["heat"]}, "row 1 must have a keyword"),
        ({"keywords": ["fire", ""], "answers": ["heat"]}, "row 1 must have a keyword"),
        ({"keywords": "fire", "answers": []}, "row 1 must have answers in column 'answers'"),
        ({"keywords": "fire", "answers": ["heat", "?!"]}, "letter or digit, got '?!'"),
    ],
)
def test_rows_that_cannot_be_counted_are_named(
    row: dict[str, object], says: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = {"keywords": "fire", "answers": ["heat"]}
    rows = questions(tmp_path / "rows.jsonl", good, row)
    with pytest.raises(SystemExit):
        main(["counts", str(rows), "--corpus", str(corpus), "-o", str(tmp_path / "out.jsonl")])
    assert says in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.slow
@quiet_litellm
def test_a_model_says_which_paragraphs_count(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says yes where something needs something; a reply of neither word is a no. A second run asks nothing."""
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOSTED_VLLM_API_KEY", "none")

    def reply(body: dict[str, Any], _: int) -> Answer:
        text = body["messages"][0]["content"].partition("TEXT: ")[2]
        return ok(completion("Yes." if "needs" in text else "no" if "puts" in text else "perhaps", []))

    rows = questions(
        tmp_path / "rows.jsonl", {"question": "What does fire need?", "keywords": "fire", "answers": ["fuel", "heat"]}
    )
    out = tmp_path / "out.jsonl"
    with fake_api(reply) as api:
        asked = ["--entailment", "hosted_vllm/checks", "--base-url", api.base_url]
        arguments = ["counts", str(rows), "--corpus", str(corpus), "-o", str(out), *asked]
        first = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert json.loads(out.read_text())["counts"] == [1, 1]
        assert len(api.requests) == 4
        CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert len(api.requests) == 4
    assert "1 of 4 replies were neither yes nor no" in first.stderr
    (message,) = {request["messages"][0]["content"].partition("TEXT: ")[0] for request in api.requests}
    assert message.startswith("You are an expert at verifying factual entailment.")
    ends = {request["messages"][0]["content"].partition("FACT: ")[2] for request in api.requests}
    assert ends == {"What does fire need? fuel\nAnswer:", "What does fire need? heat\nAnswer:"}


def test_nothing_that_is_read_is_written_over(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = questions(tmp_path / "rows.jsonl", {"keywords": "fire", "answers": ["heat"]})
    for out, says in ((rows, "is an input"), (corpus / "out.jsonl", "whose files are inputs")):
        with pytest.raises(SystemExit):
            main(["counts", str(rows), "--corpus", str(corpus), "-o", str(out)])
        assert says in capsys.readouterr().err
    assert not list(tmp_path.rglob("*.index"))
