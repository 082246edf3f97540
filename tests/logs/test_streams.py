"""Streams of every server: one joiner makes one response of the pieces of one reply, and says where it cannot."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from production import log_file
from streamed import (
    WITH_ID,
    WITHOUT_ID,
    WRITERS,
    A,
    B,
    Record,
    Said,
    Word,
    chat,
    events,
    gemini,
    interleaved,
    ollama,
    responses,
    sglang,
    steps,
    text,
    tgi,
)

import entropy_sentinel as es
from entropy_sentinel.core.errors import InputError
from entropy_sentinel.logs.log_summary import LogSummary
from entropy_sentinel.logs.partial_reply import PartialReply
from entropy_sentinel.logs.stream_bodies import join_events
from entropy_sentinel.logs.trace_frames import combine_frames
from entropy_sentinel.logs.value_paths import to_snake_case


def read(path: Path, **options: Any) -> tuple[pl.DataFrame, LogSummary]:
    logs = es.open_logs(path, **options)
    frames = list(logs)
    return combine_frames(frames) if frames else pl.DataFrame(schema={"text": pl.String}), logs.summary


def check(frame: pl.DataFrame, *expected: Said, finish: str = "stop") -> None:
    """Check the tokens, texts and entropies of whole replies, in any order."""
    assert sorted(frame["text"]) == sorted(said.text for said in expected)
    by_text = {said.text: said for said in expected}
    for row, mean in zip(frame.iter_rows(named=True), es.features(frame)["mean"], strict=True):
        said = by_text[row["text"]]
        assert row["token_logprobs"] == [word.sampled for word in said.words]
        assert row["top_logprobs"] == [[word.sampled, word.other] for word in said.words]
        assert mean == pytest.approx(said.mean_entropy, abs=1e-6)
        assert row["finish_reason"] == finish


@pytest.mark.parametrize("server", WRITERS)
@pytest.mark.parametrize("form", ["lines", "events", "arrays", "one array"])
def test_pieces_become_replies(tmp_path: Path, server: str, form: str) -> None:
    """Of one reply after the other, in each form of a file: SGLang's 3 were 9, Gemini's 9 or 7, TGI's empty."""
    streams = [WRITERS[server](A), WRITERS[server](B)]
    if form == "lines":
        log_file(tmp_path / "log", [record for stream in streams for record in stream])
    elif form == "events":
        (tmp_path / "log").write_text("".join(events(stream) + "data: [DONE]\n\n" for stream in streams))
    elif form == "arrays":
        (tmp_path / "log").write_text("\n".join(json.dumps(stream, indent=1) for stream in streams))
    else:
        (tmp_path / "log").write_text(json.dumps([*streams[0], *streams[1]]))
    frame, summary = read(tmp_path / "log", strict=True)
    check(frame, A, B)
    assert (summary.responses, summary.n_bad, dict(summary.facts), summary.ignored) == (2, 0, {}, {})
    if server in WITH_ID:
        assert sorted(frame["item_id"]) == ["a", "b"]


@pytest.mark.parametrize("server", WITH_ID)
def test_ids_tell_mixed_streams_apart(tmp_path: Path, server: str) -> None:
    streams = [WRITERS[server](A), WRITERS[server](B)]
    if server == "responses":  # the last event names the items
        streams = [responses(said, output=True) for said in (A, B)]
    frame, summary = read(log_file(tmp_path / "log", interleaved(*streams)), strict=True)
    check(frame, A, B)
    assert summary.facts == {}


def without_id(records: list[Record]) -> list[Record]:
    """Pieces as of a server that gives no ids."""
    changed = json.loads(json.dumps(records))
    for record in changed:
        for part in (record, record.get("meta_info", {})):
            part.pop("responseId", None)
            if "id" in part:
                part["id"] = ""
    return changed


@pytest.mark.parametrize("server", ["chat", "gemini", *WITHOUT_ID])
def test_mixed_streams_without_an_id_are_refused_with_their_number(tmp_path: Path, server: str) -> None:
    mixed = interleaved(*(without_id(WRITERS[server](said)) for said in (A, B)))
    frame, summary = read(log_file(tmp_path / "log", mixed))
    assert frame["text"].to_list() == []
    assert summary.n_bad in (1, 2)
    assert "2 streams without an id are mixed in " in summary.bad[0].problem
    # What comes after them is read.
    frame, _ = read(log_file(tmp_path / "log", [*mixed, *without_id(WRITERS[server](A))]))
    check(frame, A)


def test_first_fields_tell_mixed_streams_that_are_cut_off(tmp_path: Path) -> None:
    mixed = interleaved(*(without_id(chat(said))[:3] for said in (A, B)))
    frame, summary = read(log_file(tmp_path / "log", mixed))
    assert (len(frame), summary.n_bad) == (0, 1)
    assert "2 streams without an id are mixed in 6 pieces" in summary.bad[0].problem


def test_the_servers_count_tells_a_stream_that_was_left_from_the_next_one(tmp_path: Path) -> None:
    """Chunks of text completions have neither an id here nor a field that only the first one has."""
    usage = {
        "choices": [],
        "object": "text_completion",
        "usage": {"prompt_tokens": 9, "completion_tokens": len(B.words)},
    }
    records = without_id([*text(A)[:2], *text(B), usage, *text(A)])
    frame, summary = read(log_file(tmp_path / "log", records))
    check(frame, A)
    assert "2 streams without an id are mixed in 4 pieces" in summary.bad[0].problem


@pytest.mark.parametrize("server", ["chat", "text", "gemini"])
def test_streams_without_an_id_one_after_the_other(tmp_path: Path, server: str) -> None:
    records = [record for said in (A, B) for record in without_id(WRITERS[server](said))]
    frame, summary = read(log_file(tmp_path / "log", records), strict=True)
    check(frame, A, B)
    assert summary.facts == {"stream without an id": 2}


def test_pieces_with_neither_an_id_nor_an_end_are_refused(tmp_path: Path) -> None:
    path = log_file(tmp_path / "log", without_id(gemini(A))[:2])
    assert "2 pieces without an id and an end" in read(path)[1].bad[0].problem


@pytest.mark.parametrize("server", WRITERS)
def test_a_stream_that_ends_early_is_kept_as_interrupted(tmp_path: Path, server: str) -> None:
    """Whether the file ends, or another stream follows; the other one is whole."""
    cut = WRITERS[server](A)[: 3 if server in ("chat", "responses") else 2]
    begun = Said("a", A.words[:2])
    frame, summary = read(log_file(tmp_path / "log", cut))
    check(frame, begun, finish="unknown")
    assert summary.facts["interrupted stream"] == 1
    frame, summary = read(log_file(tmp_path / "log", [*cut, *WRITERS[server](B)]))
    if server == "ollama":  # which has neither an id nor a number: only the count of tokens tells
        assert len(frame) == 0
        assert "2 streams without an id are mixed in 5 pieces" in summary.bad[0].problem
        return
    check(frame.filter(pl.col("finish_reason") == "unknown"), begun, finish="unknown")
    check(frame.filter(pl.col("finish_reason") != "unknown"), B)
    assert summary.facts["interrupted stream"] == 1
    assert summary.n_bad == 0


@pytest.mark.parametrize("server", WRITERS)
@pytest.mark.parametrize("write", [events, lambda stream: "\n".join(map(json.dumps, stream)), list])
def test_a_body_with_the_pieces_of_a_reply(tmp_path: Path, server: str, write: Any) -> None:
    """As text or as a list; also where a server gives each piece another id."""
    stream = WRITERS[server](A)
    changed = json.loads(json.dumps(stream))
    for number, record in enumerate(changed):
        if server in ("chat", "text"):
            record["id"] = f"a-{number}"
    for pieces in (stream, changed):
        frame, _ = read(log_file(tmp_path / "log", [{"request": {}, "response": write(pieces)}]), strict=True)
        check(frame, A)


def test_a_body_of_two_replies_is_refused() -> None:
    pair = {"request": {}, "response": events([*tgi(A), *tgi(B)])}
    with pytest.raises(InputError, match="the body has 2 replies"):
        es.read_logs(pair)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_text_with_other_ends_of_lines_is_whole(end: str) -> None:
    """JSON may have these raw, and Python's `splitlines` cuts there."""
    said = Said("a", tuple(Word(text, -0.5, -1.5) for text in ("one\u2028", "two\u2029", "three\u0085", "four\x0b")))
    (choice,) = (join_events(events(chat(said), end)) or {})["choices"]
    assert choice["message"]["content"] == said.text
    assert len(choice["logprobs"]["content"]) == 4


def test_an_event_whose_data_has_several_lines() -> None:
    pretty = "".join(
        "".join(f"data: {line}\n" for line in json.dumps(record, indent=1).split("\n")) + "\n" for record in chat(A)
    )
    assert join_events(pretty) == join_events(events(chat(A)))


def test_candidates_of_one_reply_are_samples(tmp_path: Path) -> None:
    both = interleaved(gemini(A, 0), [piece | {"responseId": "a"} for piece in gemini(B, 1)])
    frame, _ = read(log_file(tmp_path / "log", both), strict=True)
    check(frame, A, B)
    assert sorted(frame.select("item_id", "sample").rows()) == [("a", 0), ("a", 1)]


def test_a_finish_reason_in_each_piece_and_usage_after_the_last(tmp_path: Path) -> None:
    stream = gemini(B)
    for piece in stream:
        piece["candidates"][0]["finishReason"] = "STOP"
    usage = {"usageMetadata": {"promptTokenCount": 11}, "responseId": "b", "modelVersion": "m"}
    frame, _ = read(log_file(tmp_path / "log", [*stream, usage, *gemini(A)]), strict=True)
    check(frame, A, B)
    assert frame["prompt_tokens"].to_list() == [11, 9]


@pytest.mark.parametrize("server", WITH_ID)
def test_a_stream_that_was_logged_twice_counts_once(tmp_path: Path, server: str) -> None:
    stream = WRITERS[server](A)
    frame, summary = read(log_file(tmp_path / "log", [*stream, *WRITERS[server](B), *stream, *stream]))
    check(frame, A, B)
    assert (summary.twice, summary.n_bad) == (2, 0)


def test_pieces_after_the_end_are_refused(tmp_path: Path) -> None:
    late = chat(A)[2]
    _, summary = read(log_file(tmp_path / "log", [*chat(A), *chat(B), late]))
    assert (summary.responses, summary.n_bad) == (2, 1)
    assert "comes after its end" in summary.bad[0].problem


def test_a_stream_that_lacks_a_piece_is_refused(tmp_path: Path) -> None:
    for lacking in (tgi(A)[1:], [*tgi(A)[:1], *tgi(A)[2:]]):
        frame, summary = read(log_file(tmp_path / "log", [*lacking, *tgi(B)]))
        check(frame, B)
        assert "lacks pieces" in summary.bad[0].problem
        assert "the stream that begins at " in summary.bad[0].problem
        assert "log: line 1: " in summary.bad[0].problem


def test_a_stream_of_one_piece(tmp_path: Path) -> None:
    one = Said("a", A.words[:1])
    frame, _ = read(log_file(tmp_path / "log", tgi(one) * 2), strict=True)
    assert frame["text"].to_list() == [" the"] * 2


@pytest.mark.parametrize("cumulative", [True, False])
def test_pieces_that_could_be_repetitions(tmp_path: Path, cumulative: bool) -> None:
    """The same token again and again, and a text of which each piece begins with the one before it."""
    same, longer = Word("ha", -0.5, -1.5), Word("haha", -0.25, -1.75)
    for words in ((same,) * 5, (same, longer, same, same), (Word("", -0.5, -1.5), same, Word("", -0.5, -1.5), same)):
        said = Said("a", words)
        frame, _ = read(log_file(tmp_path / "log", sglang(said, cumulative)), strict=True)
        check(frame, said)


def test_texts_that_are_added_with_steps_that_are_repeated(tmp_path: Path) -> None:
    """As older versions of a server write them."""
    mixed = sglang(A)
    for piece, added in zip(mixed, sglang(A, cumulative=False), strict=True):
        piece["text"] = added["text"]
    frame, _ = read(log_file(tmp_path / "log", mixed), strict=True)
    check(frame, A)


def test_whole_replies_are_no_pieces(tmp_path: Path) -> None:
    whole = [sglang(said)[-1] for said in (A, B)]
    for record in whole:
        del record["meta_info"]["finish_reason"], record["meta_info"]["id"]
    frame, _ = read(log_file(tmp_path / "log", whole), strict=True)
    check(frame, A, B, finish="unknown")


def test_events_whose_reply_was_not_opened_or_has_other_items(tmp_path: Path) -> None:
    alone = responses(A)[1:]
    check(read(log_file(tmp_path / "log", [*alone, *responses(B)[1:]]), strict=True)[0], A, B)
    renamed = responses(A, output=True)
    renamed[-1]["response"]["output"][0]["id"] = "other"
    check(read(log_file(tmp_path / "log", renamed), strict=True)[0], A)
    # Pieces of another text are not this text's.
    renamed[-1]["response"]["output"][0]["content"][0]["text"] = "something else"
    assert read(log_file(tmp_path / "log", renamed))[0]["n_tokens"].to_list() == [0]


def test_an_event_with_a_whole_text_has_what_the_pieces_lack(tmp_path: Path) -> None:
    """Some servers write the log-probabilities only there."""
    stream = responses(A)
    done = {**stream[1], "type": "response.output_text.done", "text": A.text, "logprobs": steps(A.words)}
    for event in stream[1:-1]:
        event["logprobs"] = []
    check(read(log_file(tmp_path / "log", [*stream[:-1], done, stream[-1]]), strict=True)[0], A)
    check(read(log_file(tmp_path / "log", [*stream[:1], done, stream[-1]]), strict=True)[0], A)


def test_pieces_of_a_client_that_renames_the_fields(tmp_path: Path) -> None:
    """As Python clients dump them: in snake case, with null for what is missing."""

    def renamed(value: Any) -> Any:
        if isinstance(value, list):
            return [renamed(part) for part in value]
        if not isinstance(value, dict):
            return value
        return {to_snake_case(name): renamed(part) for name, part in value.items()}

    pieces = [renamed(piece) for said in (A, B) for piece in gemini(said)]
    for piece in pieces:
        piece["candidates"][0].setdefault("finish_reason", None)
        piece["candidates"][0] |= {"index": None, "token_count": None}
    frame, _ = read(log_file(tmp_path / "log", pieces), strict=True)
    check(frame, A, B)
    assert sorted(frame["item_id"]) == ["a", "b"]


def test_mixed_events_of_replies_that_do_not_name_their_items_are_refused(tmp_path: Path) -> None:
    frame, summary = read(log_file(tmp_path / "log", [*interleaved(responses(A), responses(B)), *responses(A)]))
    assert [bad.problem.partition("streams")[2] for bad in summary.bad] == [
        " are mixed, and 5 pieces do not tell to which they belong"
    ] * 2
    check(frame, A)


def test_a_reply_that_is_logged_whole_after_its_events_counts_once(tmp_path: Path) -> None:
    cut, whole = responses(A)[:1], responses(A, output=True)[-1]["response"]
    assert len(read(log_file(tmp_path / "log", [*cut, whole]))[0]) == 1


def test_interrupted_streams_take_linear_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    ended = PartialReply.has_ended.fget
    assert ended is not None

    def counted(self: PartialReply) -> bool:
        nonlocal looks
        looks += 1
        return bool(ended(self))

    monkeypatch.setattr(PartialReply, "has_ended", property(counted))
    records = [record for number in range(300) for record in chat(Said(f"r{number}", B.words))[:2]]
    frame, summary = read(log_file(tmp_path / "log", records))
    assert (len(frame), summary.facts["interrupted stream"]) == (300, 300)
    assert looks < 5 * len(records)


def test_errors_of_the_pieces_name_their_stream(tmp_path: Path) -> None:
    broken = chat(A)
    broken[2]["choices"][0]["delta"]["content"] = 7
    _, summary = read(log_file(tmp_path / "log", [*broken, *chat(B)]))
    assert summary.responses == 1
    assert [bad.problem.partition("log: line 1: ")[2] or bad.problem for bad in summary.bad] == [
        "the pieces of `delta.content` must be texts or lists, got 7",
        "the stream 'a' has an unreadable chunk",
    ]


def test_a_stream_has_the_place_of_its_first_piece(tmp_path: Path) -> None:
    frame, _ = read(log_file(tmp_path / "log", [*ollama(A), *ollama(B)]), places=True)
    assert [place.rpartition(": ")[2] for place in frame["place_in_log"]] == ["line 1", f"line {len(ollama(A)) + 1}"]
