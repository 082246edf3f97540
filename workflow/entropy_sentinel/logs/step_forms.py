"""The forms of log-probabilities, recognised without reading them: names of fields, lists of steps, steps by token id.

Formats are recognised when the command line starts, so this module imports no library.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.core.printable import describe_json
from entropy_sentinel.logs.value_paths import find_value

# The names of a token's log-probability, of its text and of the list of alternatives in a step.
LOGPROB_NAMES = ("logprob", "log_prob", "logProb", "logProbability", "log_probability")
TOKEN_NAMES = ("token", "text", "decoded_token", "token_text", "tokenText")
TOP_NAMES = ("top_logprobs", "topLogprobs", "top_log_probs", "topLogProbs", "top_tokens", "topTokens", "alternatives")
# The names of parallel lists in a choice's log-probabilities.
SAMPLED_LISTS = ("token_logprobs", "tokenLogprobs", "token_log_probs", "tokenLogProbs")
TOKEN_LISTS = ("tokens", "token_texts")
# The names of lists of steps, one for each part of an answer.
PARTS = ("reasoning_content", "content", "refusal")
CHOSEN, TOP_CHOSEN = ("chosenCandidates", "chosen_candidates"), ("topCandidates", "top_candidates")
CANDIDATES = "candidates"
NUMBERS = {int, float, type(None)}
# The text and the sampled ids in a row of offline generation, which users rename.
ROW_TEXTS = ("generated_text", "text", "generation", "answer", "response", "output", "completion")
ROW_TOKEN_IDS = ("generated_tokens", "token_ids", "output_token_ids")


def join_parts(steps: list[Any]) -> list[Any]:
    """One list of steps for a list of such lists, one for each part of a text."""
    while steps and all(isinstance(part, list) and part and isinstance(part[0], Mapping | list) for part in steps):
        steps = [step for part in steps for step in part]
    return steps


def are_steps(value: Any) -> bool:
    """Whether a value has one of the forms that `read_steps` reads, by its first step."""
    if isinstance(value, list):
        steps = join_parts(value)
        if not steps or not isinstance(steps[0], Mapping):
            return False
        # Inner lists without further lists may be the alternatives of a step.
        is_joined = steps is not value
        has_top = read_first(steps[0], TOP_NAMES) is not None
        has_token = read_first(steps[0], TOKEN_NAMES) is not None
        return (has_top and has_token) or (is_step(steps[0]) and not is_joined)
    if not isinstance(value, Mapping):
        return False
    lists = [read_first(value, names) for names in (PARTS, SAMPLED_LISTS, CHOSEN)]
    return any(isinstance(part, list) for part in lists)


def is_step(value: Any) -> bool:
    """Whether a value is an object with a log-probability."""
    return isinstance(value, Mapping) and any(name in value for name in LOGPROB_NAMES)


def is_keyed_by_id(record: Mapping[str, Any]) -> bool:
    """Whether the steps of a record have the log-probabilities of tokens by their ids."""
    steps = record.get("logprobs")
    if not isinstance(steps, list) or not steps or find_value(record, ROW_TEXTS) is None:
        return False
    try:
        entries = index_by_id(steps[0])
    except InputError:
        return False
    # Numbers by id are also what servers write that do not say which token was sampled.
    has_ids = find_value(record, ROW_TOKEN_IDS) is not None
    are_entries = all(is_step(entry) or (has_ids and type(entry) in NUMBERS) for entry in entries.values())
    return bool(entries) and are_entries and all(key.isdecimal() for key in entries)


def index_by_id(step: Any) -> dict[str, Any]:
    """The entries of a step by token id; tables have numbers as ids, lists of pairs, or of {key, value}."""
    if isinstance(step, Mapping):
        return {str(token_id): entry for token_id, entry in step.items() if entry is not None}
    entries = {}
    for pair in step or ():
        if isinstance(pair, Mapping) and {"key", "value"} <= set(pair):
            entries[str(pair["key"])] = pair["value"]
        elif isinstance(pair, list | tuple) and len(pair) == 2:
            entries[str(pair[0])] = pair[1]
        else:
            raise InputError(f"a step of `logprobs` must have the entries by token id, has {describe_json(pair)}"[:200])
    return entries


def read_first(record: Mapping[str, Any], names: Iterable[str]) -> Any:
    """The value under the first of these names that is not null; None without one."""
    return next((record[name] for name in names if record.get(name) is not None), None)
