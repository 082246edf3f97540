"""How a response is shown to a chat model: nothing in it passes for a part of the prompt.

Special tokens are left out until none is left. A response that has headings of the prompt, or a reply of the judge, is
shown as a quotation, every line after `> `. Any other is shown as it is, in the words of the paper: labels that were
paid for stay those of the same request.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

# <|end|>, <|eot_id|>, DeepSeek's wide form, and what Llama's, Gemma's and Mistral's chats are made of; `<|x|>` is none.
_SPECIAL = re.compile(
    r"<\|[A-Za-z]\w+\|>|<｜[^｜<>\n]{2,40}｜>|</s>|<eos>|<bos>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
)
# So often what removing one makes of its surroundings is looked at; deeper nests are taken apart at once.
_PASSES = 20
_PLACEHOLDER = re.compile(r"\{(?:question|response|reference)\}")
# A reply of the judge, however its keys and values are spelled.
_JUDGEMENT = re.compile(r"\bsuccess\W{0,4}[:=]\W{0,3}(?:true|false)\b")
# Letters of other alphabets that look like Latin ones.
_LATIN = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d"  # Cyrillic
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0405\u0406"
    "\u03bf\u03bd\u03b1\u03c1\u03b5\u03b9\u0391\u0395\u039f\u03a1\u03a4\u039d\u0397\u0399",  # Greek
    "aeopcyxijsdhqwABEKMHOPCTXSIovapeiAEOPTNHI",
)
_COMMANDS = re.compile(r"\\[a-z]+\*?|</?[a-z][a-z0-9]*>")
_WRITTEN_LINE_END = re.compile(r"\\[nr](?![A-Za-z])|\\[nr](?=\\[nr])|<br\s*/?>", re.IGNORECASE)
_NAME_ENDS = re.compile(r"[:=|\t–—]")


@dataclass(frozen=True)
class Shown:
    """What a judge is shown of a response, and what in it spoke to the judge, None where nothing did."""

    text: str
    caution: str | None = None


def without_special_tokens(text: str) -> Shown:
    """A text without special tokens at any depth, stripped. Those at its ends are of the chat format: no caution."""
    rest, passes = _SPECIAL.sub("", text), 1
    while (again := _SPECIAL.sub("", rest)) != rest and passes < _PASSES:
        rest, passes = again, passes + 1
    if again != rest:
        rest = rest.replace("<", "< ").replace("[", "[ ")
    rest = rest.strip()
    # Of a text that is what lies between tokens at its ends, nothing inside was left out.
    return Shown(rest, None if passes == 1 and rest in text else "special tokens inside it are left out")


def quoted(shown: Shown, headings: frozenset[str]) -> Shown:
    """The text as a quotation where it has one of the prompt's `headings`, or a reply of the judge."""
    found = []
    if any(_is_heading(line, headings) for line in _lines(shown.text)):
        found.append("headings of the prompt in it are quoted")
    if _JUDGEMENT.search(_plain(shown.text)):
        found.append("a judgement in it is quoted")
    if not found:
        return shown
    cautions = [shown.caution, *found] if shown.caution else found
    return Shown("\n".join(f"> {line}" for line in shown.text.splitlines()), "; ".join(cautions))


def headings_of(messages: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """What stands beside the places of a prompt, as `# Correct Answer` does: as `_name` has it; tags as they are."""
    found: set[str] = set()
    for message in messages:
        parts = _PLACEHOLDER.split(message["content"])
        for number, part in enumerate(parts):
            lines = [line for line in part.splitlines() if line.strip()]
            beside = lines[-1:] * (number < len(parts) - 1) + lines[:1] * (number > 0)
            for line in beside:
                tags = re.findall(r"</?\w[^<>]*>", _plain(line))
                found |= set(tags or [_name(_plain(line))])
    return frozenset(found - {""})


def _is_heading(line: str, headings: frozenset[str]) -> bool:
    """Whether a line is a heading, begins with one and a colon, or has one after `#`, or one that is a tag."""
    plain = _plain(line)
    if any(heading in plain for heading in headings if heading.startswith("<")):
        return True
    head, *after_hash = plain.split("#")
    without_prefix = re.sub(r"^[\W\d_]+", "", _COMMANDS.sub("", head))
    names = {_name(plain), _name(_NAME_ENDS.split(without_prefix)[0])}
    return bool(names & headings) or any(
        name.startswith(heading) for name in map(_name, after_hash) for heading in headings
    )


def _lines(text: str) -> Iterator[str]:
    """Lines as a reader may take them, also where their ends are only written: `\\n`."""
    for line in text.splitlines():
        yield from _WRITTEN_LINE_END.split(line)


def _plain(text: str) -> str:
    """A text in small Latin letters, without accents and without characters that nobody sees."""
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKD", text).translate(_LATIN)
    return "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Mn")).casefold()


def _name(plain: str) -> str:
    """The letters and digits of a heading, without its number: `**3. Correct Answer:**` is `correctanswer`."""
    return re.sub(r"[\W_]+", "", _COMMANDS.sub("", plain)).lstrip("0123456789")
