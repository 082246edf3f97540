"""Detection of secrets by name or content. Trace files have all settings, so these must not include secrets."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

# A word in a name, and its possible ending: `api_key`, `HF_TOKEN`, `passwords`, `x-auth-2`.
_WORDS = re.compile(
    r"(?:^|_)(?:TOKENS?|KEY|(?:API|ACCESS|PRIVATE|SECRET|AUTH)_?KEYS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PWD|CREDS"
    r"|CREDENTIALS?|AUTH|AUTHORIZATION|BEARER|COOKIES?|JWT)(?=\d*(?:_|$))",
    re.IGNORECASE,
)
# Names with `token` that mean a model's tokens: `max_tokens`, `token_ids`, `eos_token`.
_MODEL_TOKENS = re.compile(
    r"(?:^|_)(?:(?:MAX|MIN|NUM|N|TOTAL|NEW|TOP|STOP|SPECIAL|ADDED|EOS|BOS|PAD|UNK|SEP|CLS|MASK|START|END|THINK|THINKING"
    r"|IMAGE|AUDIO|VIDEO|INPUT|OUTPUT|PROMPT|COMPLETION|REASONING|CACHED|BATCHED|SPECULATIVE|PREFILL|ALLOWED|BAD|PER)_TOKENS?"
    r"|TOKENS?_(?:IDS?|PER|COUNTS?|THRESHOLD|LIMIT|BUDGET|USAGE|DETAILS|PROBS?|LOGPROBS?|TYPES?|START|END))(?:_|$)",
    re.IGNORECASE,
)
# Names that mean a number of tokens, or of a row, if the value is a number.
_COUNTS = re.compile(r"(?:^|_)(?:TOKENS?|KEYS?)(?=\d*(?:_|$))", re.IGNORECASE)
# Keys of OpenAI and many others, xAI, Groq, Hugging Face, AWS, GitHub, GitLab, Google, Slack; JWT; bearer tokens.
_LONG = r"(?:[\w-]{16,}|(?=[\w-]*\d)[\w-]{8,})"
_RANDOM = r"(?=[\w-]*\d)(?:(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{20,}|[\w-]{32,})"
_KEYS = re.compile(
    rf"(?<![\w/.-])(?:(?:sk|xai)-{_LONG}|(?:gsk|hf|gh[oprsu]|github_pat)_{_LONG}|glpat-{_LONG}|xox[abprs]-{_LONG}"
    rf"|(?:AKIA|ASIA)[0-9A-Z]{{12,}}|AIza[\w-]{{16,}}|eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}[\w.-]*"
    r"|(?:[Bb]earer|BEARER)\s+(?=\S*\d)[\w.~+/=-]{8,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    # After a letter, a slash or a dash a key must look random, because words end so: task-2, /sk-article.
    rf"|(?<=[\w/.-])(?:(?:sk|xai)-{_RANDOM}|(?:gsk|hf|gh[oprsu]|github_pat)_{_RANDOM}|glpat-{_RANDOM}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Za-z])|AIza[\w-]{30,})"
)

SECRET_WARNING = (
    "looks like a secret, but settings are written into every trace file; export it as an environment "
    "variable in the shell that starts Snakemake"
)


@lru_cache(4096)
def is_secret_name(name: str) -> bool:
    """Whether a word of a name marks a secret, as in `HF_TOKEN`, `x-api-key` and `authToken`."""
    words = _split_words(name)
    return _WORDS.search(words) is not None and _MODEL_TOKENS.search(words) is None


def may_count(name: str) -> bool:
    """Whether a number under a secret's name is rather a count, as in `tokens`."""
    words = _split_words(name)
    # No word but `tokens` or `keys` marks a secret.
    return _WORDS.sub("", words) == _COUNTS.sub("", words)


def _split_words(name: str) -> str:
    """A name with `_` between its words: `auth_Token` for `authToken`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", name)


def is_secret(text: str) -> bool:
    """Whether a text contains a provider's key, such as `sk-...`, `hf_...` or `Bearer ...`."""
    return _KEYS.search(text) is not None


def mask_keys(text: str) -> str:
    """The text with `***` instead of providers' keys."""
    return _KEYS.sub("***", text)


def refuse_secrets(section: str, settings: Mapping[str, Any]) -> None:
    """Raise ValueError for the first key, at any depth, that looks like a secret's; the message shows no value."""
    for path in find_secret_keys(settings):
        raise ValueError(f"{section}: '{path}' {SECRET_WARNING}")


def find_secret_keys(value: Any, path: str = "", by_name: bool = True) -> Iterator[str]:
    """Yield the dotted paths of keys in nested settings whose names or values look like secrets.

    Without `by_name` only values count, for example if the names are those of a study's models.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            below = f"{path}.{key}" if path else str(key)
            deeper = list(find_secret_keys(inner, below, by_name))
            yield from deeper
            # Numbers and switches are not secrets: vLLM has long_prefill_token_threshold, and hf_token: true.
            if by_name and not deeper and is_secret_name(str(key)) and _has_text(inner):
                yield below
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from find_secret_keys(inner, f"{path}[{number}]", by_name)
    elif isinstance(value, str) and is_secret(value):
        yield path


def _has_text(value: Any) -> bool:
    """Whether a value is a text, or has one at any depth."""
    if isinstance(value, Mapping):
        return any(map(_has_text, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_text, value))
    return isinstance(value, str)
