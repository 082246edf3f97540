"""Formats of logs that an extension declares: tried before the built-in ones, and what is refused."""

import json
import math
from pathlib import Path

import pytest
from extended import extension, printed, ran

from entropy_sentinel.logs.format_registry import FORMATS

INIT = r"""
def formats():
    from entropy_sentinel.logs.format_declaration import Container, Format, make_envelope_format, make_layout_format
    from entropy_sentinel.logs.envelopes import Envelope
    from entropy_sentinel.logs.layouts import Layout
    from entropy_sentinel.logs.stream_declarations import Part, Stream
    from mine import steps

    stream = Stream(parts=(Part("words"), Part("stood")), key=("id",), flag="over", needs=("stood",))
    stood = Layout(steps=("stood",), text=("words",), logprob="p", top="rest", stream=stream)
    return {
        "steps": Format(
            "steps",
            "one response per record",
            "nothing",
            lambda: steps.StepsReader,
            lambda record: {"said", "steps"} <= set(record),
            containers=(Container(lambda begin: begin.startswith(b"STEPS"), steps.listed, ".steps"),),
            labels=True,
        ),
        "places": make_layout_format("places", "other places", "nothing", stood),
        "wrapped": make_envelope_format("wrapped", "replies within", "nothing", Envelope(reply=("inner.reply",))),
    }
"""
STEPS = r"""
from entropy_sentinel.logs import parsed_response
from entropy_sentinel.logs.json_values import read_json_records
from entropy_sentinel.logs.reader_base import Reader
from entropy_sentinel.logs.parsed_response import Reply


class StepsReader(Reader):
    def replies(self, record):
        steps, text = record["steps"], parsed_response.replace_surrogates(record["said"])
        found = parsed_response.build_trace([step["sampled"] for step in steps], [step["likely"] for step in steps])
        columns = self.columns(record, {"route": record.get("route")})
        yield Reply(record["number"], None, text, "stop", found, columns=columns, label=record.get("right"))


def listed(stream, name, longest):
    stream.readline()
    return read_json_records(stream, name, longest)
"""
COIN, BIASED = [math.log(0.5)] * 2, [math.log(0.75), math.log(0.25)]
STEPPED = {"number": "a-1", "said": "yes", "route": "shop", "right": True}
STEPPED |= {"steps": [{"sampled": COIN[0], "likely": COIN}, {"sampled": BIASED[0], "likely": BIASED}]}
# A built-in format recognises this record as well.
BOTH = STEPPED | {"number": "a-2", "request": {}, "response": {"choices": []}}
TOKENS = [{"token": "yes", "p": top[0], "rest": [{"logprob": logprob} for logprob in top]} for top in (COIN, BIASED)]
PLACED = {"id": "b-1", "words": "yes", "stood": TOKENS}
CHOICE = {"message": {"content": "yes"}, "finish_reason": "stop"}
CHOICE |= {"logprobs": {"content": [{"token": "yes", "logprob": BIASED[0], "top_logprobs": [{"logprob": BIASED[0]}]}]}}
WRAPPED = {"inner": {"reply": {"id": "c-1", "model": "m", "choices": [CHOICE]}}}


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return extension(tmp_path / "mine", INIT, steps=STEPS)


def test_logs_of_declared_formats_are_read(mine: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    records = [STEPPED, BOTH, PLACED, WRAPPED]
    (logs / "1.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (logs / "2.steps").write_text(f"STEPS\n{json.dumps(STEPPED | {'number': 'a-3'})}\n")
    code = """
import json
import entropy_sentinel as es
from entropy_sentinel.logs.format_registry import FORMATS

rows = es.read_features("logs").sort("item_id")
opened = es.open_logs("logs")
for _ in opened:
    pass
print(json.dumps({
    "formats": list(FORMATS),
    "counts": opened.summary.formats,
    "rows": rows.select("item_id", "route", "n_tokens", "max").rows(),
    "labels": es.read_labels("logs/2.steps").select("item_id", "label").rows(),
}))
"""
    found = printed(tmp_path, code, mine)
    # The first format that recognises a record reads it.
    assert found["formats"] == ["steps", "places", "wrapped", *FORMATS]
    assert found["counts"] == {"steps": 3, "places": 1, "wrapped": 1}
    routes = {name: route for name, route, *_ in found["rows"]}
    assert routes == {"a-1": "shop", "a-2": "shop", "a-3": "shop", "b-1": None, "c-1": None}
    assert [n for _, _, n, _ in found["rows"]] == [2, 2, 2, 2, 1]
    assert [largest for *_, largest in found["rows"][:4]] == pytest.approx([math.log(2)] * 4, abs=1e-6)
    assert found["labels"] == [["a-3", True]]


def test_a_declared_layout_is_recognised_within_an_envelope(mine: Path, tmp_path: Path) -> None:
    pair = {"id": "p-1", "request": {}, "response": {name: PLACED[name] for name in ("words", "stood")}}
    records = [pair, {"inner": {"reply": json.dumps(PLACED)}}, {"raw_response": PLACED | {"id": "r-1"}}]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    code = """
import json
import entropy_sentinel as es

print(json.dumps(es.read_features("log.jsonl").select("item_id", "n_tokens", "reason").sort("item_id").rows()))
"""
    assert printed(tmp_path, code, mine) == [["b-1", 2, None], ["p-1", 2, None], ["r-1", 2, None]]


def test_a_declared_stream_is_joined(mine: Path, tmp_path: Path) -> None:
    pieces = [PLACED | {"words": word, "stood": [step], "over": False} for word, step in zip("yn", TOKENS, strict=True)]
    mixed = [piece | {"id": name} for piece in pieces for name in ("b-1", "b-2")]
    ends = [{"id": name, "words": "", "stood": [], "over": True} for name in ("b-2", "b-1")]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in [*mixed, *ends]))
    body = [piece | {"id": "b-3"} for piece in [*pieces, ends[0]]]
    (tmp_path / "body.jsonl").write_text(json.dumps({"request": {}, "response": body}))
    code = """
import json
import entropy_sentinel as es

frame = es.read_logs(["log.jsonl", "body.jsonl"])
print(json.dumps(frame.select("item_id", "text", "n_tokens").rows()))
"""
    found = printed(tmp_path, code, mine)
    assert found == [["b-2", "yn", 2], ["b-1", "yn", 2], ["b-3", "yn", 2]]


def test_the_help_lists_a_declared_format(mine: Path, tmp_path: Path) -> None:
    code = "from entropy_sentinel.cli.main import main; main(['features', '--help'])"
    words = ran(tmp_path, code, mine).stdout.replace("│", " ").split()
    assert "steps, places, wrapped, inspect," in " ".join(words)


@pytest.mark.parametrize(
    ("formats", "facts"),
    [
        ('{"steps": 3}', ("'steps'", "entropy_sentinel.logs.format_declaration.Format", "int")),
        ('{"steps": Format("stairs", "m", "r", None, bool)}', ("'steps'", "'stairs'")),
        ('{"openai": Format("openai", "m", "r", None, bool)}', ("'openai'", "entropy_sentinel.logs")),
    ],
)
def test_a_wrong_format_is_refused_with_its_module(formats: str, facts: tuple[str, ...], tmp_path: Path) -> None:
    init = f"def formats():\n    from entropy_sentinel.logs.format_declaration import Format\n\n    return {formats}\n"
    wrong = extension(tmp_path / "mine_wrong", init)
    error = ran(tmp_path, "import entropy_sentinel.logs.format_registry", wrong).stderr.splitlines()[-1]
    assert error.startswith("entropy_sentinel.core.errors.ConfigError: ")
    for fact in ("mine_wrong", *facts):
        assert fact in error
