"""Tokenizers with a model's full number of entries, whose texts are made up."""

import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

# Merges reach three letters; longer entries are decoded, but no text is encoded as them.
_LONGEST_MERGE = 3


def byte_letters() -> list[str]:
    """The letter that stands for each byte in byte-level BPE, as GPT-2 defined it."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = {byte: chr(byte) for byte in shown} | {byte: chr(256 + place) for place, byte in enumerate(hidden)}
    return [letters[byte] for byte in range(256)]


def words() -> Iterator[str]:
    """Yield two letters, three letters and so on; four are enough for the largest vocabulary."""
    for length in (2, 3, 4):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def write_tokenizer(folder: Path, size: int, special: Mapping[int, str], template: str, end: int) -> None:
    """Write `tokenizer.json`, its configuration and the chat template.

    Args:
        folder: The model's folder.
        size: The number of entries.
        special: The tokens with a function, by id.
        template: The chat template.
        end: The id of the token that ends a turn.
    """
    texts = iter([*byte_letters(), *words()])
    entries = {special.get(number) or next(texts): number for number in range(size)}
    merges = [
        [word[:-1], word[-1]]
        for word in entries
        if 2 <= len(word) <= _LONGEST_MERGE and word.isascii() and word.isalpha()
    ]
    tokenizer = {
        "version": "1.0",
        "added_tokens": [_added_token(number, text) for number, text in sorted(special.items())],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": entries, "merges": merges},
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": special[end],
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "chat_template.jinja").write_text(template)


def _added_token(number: int, text: str) -> dict[str, Any]:
    off = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": text, "special": True, **off}
