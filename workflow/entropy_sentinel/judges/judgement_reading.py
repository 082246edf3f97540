"""Read an LLM judge's reply: its verdict counts if the reply ends with it and has no other one."""

import ast
import json
import re
from typing import Any

from entropy_sentinel.judges.answer_markers import find_thinking_end

# What may follow the verdict: a code fence, punctuation, and chat format.
_END = re.compile(r"(?:\s|`|\*|\.|<\|[A-Za-z]\w*\|>|<｜[^｜<>\n]{2,40}｜>|</s>|<eos>|<end_of_turn>|\[/INST\])*")
# One key without nested values, in Python's or the prompt's spelling.
_PYTHON = re.compile(r"\{\s*(?:'success'|\"success\"|success)\s*:\s*['\"]?(true|false)['\"]?\s*,?\s*\}", re.IGNORECASE)
_WORDS = {"true": True, "false": False}


def read_judgement(reply: str) -> bool | None:
    """The verdict of a reply; None without one, or with several that differ.

    It is an object with the key `success`, true or false (or that word as text); it may have further keys, a code fence
    or quotes around it, and text before it. The judge's thinking before the reply does not count.
    """
    start = find_thinking_end(reply)
    if start is None:
        return None
    text = _unquote_text(reply[start:].strip())
    verdicts: list[bool | None] = []
    end, last = 0, 0
    while (begin := text.find("{", end)) >= 0:
        end = begin + 1
        for verdict, stop in (_read_json(text, begin), _read_python(text, begin)):
            if stop:
                verdicts.append(verdict)
                end, last = stop, begin
                break
    inside = text.count("{", 0, last) > text.count("}", 0, last)
    if not verdicts or len(set(verdicts)) > 1 or inside or not _END.fullmatch(text, end):
        return None
    return verdicts[0]


def _unquote_text(text: str) -> str:
    """The content of a reply that is a text in quotes."""
    try:
        content = json.loads(text) if text.startswith('"') else text
    except ValueError:
        return text
    return content if isinstance(content, str) else text


def _read_json(text: str, begin: int) -> tuple[bool | None, int]:
    """The verdict of the JSON object at `begin`, None if it is unclear, and its end; 0 if there is none."""
    try:
        pairs, end = json.JSONDecoder(object_pairs_hook=list).raw_decode(text, begin)
    except (ValueError, RecursionError):
        return None, 0
    values = [value for name, value in pairs if isinstance(name, str) and name.casefold() == "success"]
    return (_read_truth(values), end) if values else (None, 0)


def _read_python(text: str, begin: int) -> tuple[bool | None, int]:
    """Do the same as `_read_json` for an object in Python's spelling, such as `{'success': True}`."""
    if match := _PYTHON.match(text, begin):
        return _WORDS[match[1].casefold()], match.end()
    end = text.find("}", begin) + 1
    try:
        value = ast.literal_eval(text[begin:end])
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None, 0
    return (_read_truth([value["success"]]), end) if isinstance(value, dict) and "success" in value else (None, 0)


def _read_truth(values: list[Any]) -> bool | None:
    """The only value as true or false; None if it is anything else, or if the key stands twice."""
    if len(values) != 1:
        return None
    value = values[0]
    if isinstance(value, str):
        return _WORDS.get(value.strip().casefold())
    return value if isinstance(value, bool) else None
