"""What an engine's replies must be, field by field (engine_interface.py): their types, lengths and possible values.

Each function returns the first `Problem` of a reply, or None. Types and lengths are checked on every reply, because a
reply with wrong ones cannot be stored. Values are checked on whole arrays, in a fraction of a millisecond.
"""

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from entropy_sentinel.features.half_precision import NEAR_ZERO
from entropy_sentinel.features.token_lists import ROUNDING, ZERO_PROBABILITY
from entropy_sentinel.schemas.generation_schema import REFUSED, TOP_K
from entropy_sentinel.study.engines.engine_interface import (
    Beam,
    Beams,
    Continuation,
    NextToken,
    RenderedPrompt,
    Response,
)
from entropy_sentinel.study.items.table_import import find_impossible_step

# Traces have whole numbers in 32 bits.
_LARGEST = 2**32 - 1
# How far the sampled token's log-probability may be from its entry among the most likely ones, nats: servers that
# compute both in half precision differ by less.
_LOGPROB_TOLERANCE = 0.1
_FINISH_REASONS = ("stop", "length")

_PAD = f"fill missing entries with -inf, and leave out all but the {TOP_K} most likely"
_LOGARITHMS = "give natural logarithms of the model's own probabilities, before temperature and sampling"
_SAME_DISTRIBUTION = "take both from the same distribution, the one before temperature and sampling"
_NAN = "the model's computation failed at this step, often for want of precision (load it with dtype bfloat16)"


class Problem(NamedTuple):
    """A field of a reply, what it must be, what it was, and what to do."""

    field: str
    must: str
    was: str
    remedy: str = ""


def find_type_problem(response: Any) -> Problem | None:
    """The first field of a response whose type or length does not fit: it could not be stored."""
    if not isinstance(response, Response):
        return Problem("response", "must be a Response (study/engines/engine_interface.py)", _describe_value(response))
    return next(filter(None, _find_type_problems(response)), None)


def _find_type_problems(response: Response) -> Iterator[Problem | None]:
    """Yield what is wrong with each field of a response, or None if nothing is."""
    for name in ("prompt_hash", "text", "finish_reason"):
        yield _find_text_problem(name, getattr(response, name))
    for name in ("prompt_tokens", "displaced_steps", "n_counted"):
        yield _find_count_problem(name, getattr(response, name))
    if (response.token_logprobs is None) != (response.top_logprobs is None):
        missing = "token_logprobs" if response.token_logprobs is None else "top_logprobs"
        yield Problem(missing, "must be an array if the other log-probabilities are; None for both without any", "None")
    n_tokens = response.n_tokens if response.token_logprobs is None else _count_entries(response.token_logprobs)
    per_token, per_alternative = (n_tokens,), (n_tokens, TOP_K)  # shapes
    for name, shape, kind in (
        ("token_logprobs", per_token, "float"),
        ("top_logprobs", per_alternative, "float"),
        ("tokens", per_token, "text"),
        ("token_ids", per_token, "id"),
        ("top_token_ids", per_alternative, "id"),
        ("top_tokens", per_alternative, "text"),
    ):
        value = getattr(response, name)
        yield None if value is None else _find_array_problem(name, value, shape, kind)


def find_value_problem(response: Response, has_logprobs: bool) -> Problem | None:
    """The first impossible value of a response whose types fit; features of such a response are null.

    `has_logprobs` is whether the engine says that it gives log-probabilities.
    """
    if response.finish_reason.startswith(REFUSED):
        return None
    if response.token_logprobs is None or response.top_logprobs is None:
        if not has_logprobs or not response.text:
            return None
        must = "must be an array, one log-probability per token"
        return Problem("token_logprobs", must, "None", "an engine without any says so: logprobs_mode 'none'")
    if not len(response.token_logprobs):
        lacks = "must have a log-probability for each token of the text"
        was = f"an empty array with the text {response.text[:40]!r}"
        return Problem("token_logprobs", lacks, was) if response.text else None
    sampled = np.asarray(response.token_logprobs, np.float32)
    return _find_step_problem(sampled, np.asarray(response.top_logprobs, np.float32), response)


def _find_step_problem(sampled: np.ndarray, top: np.ndarray, response: Response) -> Problem | None:
    """The first step, of `sampled` (T,) and `top` (T, TOP_K), that cannot be of a model's distribution."""
    for name, values in (("token_logprobs", sampled), ("top_logprobs", top)):
        if (problem := _find_number_problem(name, values)) is not None:
            return problem
    if not _are_exactly_possible(sampled, top):  # the other rules allow for rounding, and take ten times as long
        columns = {"token_logprobs": [sampled], "top_logprobs": [top]}
        schema = {"token_logprobs": pl.List(pl.Float32), "top_logprobs": pl.List(pl.Array(pl.Float32, TOP_K))}
        wrong = find_impossible_step(pl.DataFrame(columns, schema=schema))
        if wrong is not None:
            return Problem(wrong.column, wrong.must, f"{_format_numbers(wrong.was)} at step {wrong.step}", _LOGARITHMS)
    return _find_sampled_token_problem(sampled, top, response)


def _are_exactly_possible(sampled: np.ndarray, top: np.ndarray) -> bool:
    """Whether `find_impossible_step` would find nothing in these numbers, however they were rounded.

    `sampled` is (T,), `top` (T, TOP_K), both in nats.
    """
    largest = top[:, 0]
    falling = (top[:, 1:] <= top[:, :-1]).all()
    possible = (largest > ZERO_PROBABILITY).all() and (sampled <= largest + ROUNDING).all()
    return bool(falling and possible and (np.exp(top).sum(axis=1) <= 1 + ROUNDING / 2).all())


def _find_number_problem(name: str, values: np.ndarray) -> Problem | None:
    """The first step with NaN or a probability above 1, as a problem; None without one."""
    for wrong, must, remedy in (
        (np.isnan(values), "must be numbers", _NAN),
        (values > NEAR_ZERO, "must be logarithms of probabilities, at most 0", _LOGARITHMS),
    ):
        if wrong.any():
            step = int(wrong.reshape(len(values), -1).any(axis=1).argmax())
            return Problem(name, must, f"{_format_numbers(values[step])} at step {step}", remedy)
    return None


def _find_sampled_token_problem(sampled: np.ndarray, top: np.ndarray, response: Response) -> Problem | None:
    """The first step whose sampled token has another log-probability than among the most likely tokens."""
    with np.errstate(invalid="ignore"):  # -inf - -inf
        distances = np.abs(top - sampled[:, None])
    if response.token_ids is not None and response.top_token_ids is not None:
        is_chosen = np.asarray(response.top_token_ids) == np.asarray(response.token_ids)[:, None]
        mismatches = (is_chosen & (distances > _LOGPROB_TOLERANCE)).any(axis=1)
    else:
        # More likely than the last of the most likely tokens, and so one of them.
        nearest = np.where(np.isnan(distances), np.inf, distances).min(axis=1)
        mismatches = (sampled > top[:, -1]) & (nearest > _LOGPROB_TOLERANCE)
    if not mismatches.any():
        return None
    step = int(mismatches.argmax())
    must = "must have the sampled token's log-probability as top_logprobs has it"
    was = f"{_format_numbers(sampled[step])} at step {step}, whose top_logprobs are {_format_numbers(top[step])}"
    return Problem("token_logprobs", must, was, _SAME_DISTRIBUTION)


def find_next_token_type_problem(reply: Any) -> Problem | None:
    """The first field of a NextToken whose type or length does not fit."""
    if not isinstance(reply, NextToken):
        return Problem("next token", "must be a NextToken (study/engines/engine_interface.py)", _describe_value(reply))
    n_tokens = 0 if reply.refused else TOP_K
    problem = _find_array_problem("token_ids", reply.token_ids, (n_tokens,), "id")
    return problem or _find_array_problem("logprobs", reply.logprobs, (n_tokens,), "float")


def find_next_token_value_problem(reply: NextToken) -> Problem | None:
    """The first impossible value of a NextToken whose types fit."""
    logprobs = np.asarray(reply.logprobs, np.float32)
    ids = np.asarray(reply.token_ids)
    if not len(logprobs):
        return None
    if problem := _find_number_problem("logprobs", logprobs):
        return problem
    if (logprobs[1:] > logprobs[:-1]).any():
        return Problem("logprobs", "must be those of the most likely tokens, largest first", _format_numbers(logprobs))
    if np.exp(logprobs.astype(np.float64)).sum() > 1 + ROUNDING:
        must = "must be logarithms of probabilities whose sum is at most 1"
        return Problem("logprobs", must, _format_numbers(logprobs), _LOGARITHMS)
    if len(np.unique(ids)) < len(ids):
        return Problem("token_ids", "must be different tokens", _format_numbers(ids))
    return None


def find_continuation_problem(reply: Any, n_tokens: int) -> Problem | None:
    """The first field of a Continuation of `n_tokens` tokens that does not fit."""
    if not isinstance(reply, Continuation):
        return Problem(
            "continuation", "must be a Continuation (study/engines/engine_interface.py)", _describe_value(reply)
        )
    n_expected = 0 if reply.refused else n_tokens
    problem = _find_array_problem("logprobs", reply.logprobs, (n_expected,), "float")
    return problem or _find_number_problem("logprobs", np.asarray(reply.logprobs, np.float32))


def find_beams_problem(reply: Any, width: int) -> Problem | None:
    """The first field of Beams, of a search of this `width`, that does not fit."""
    if not isinstance(reply, Beams):
        return Problem("beams", "must be Beams (study/engines/engine_interface.py)", _describe_value(reply))
    if len(reply.beams) > width or not (reply.beams or reply.refused):
        must = f"must be 1 to {width} sequences, or none with `refused`"
        return Problem("beams", must, f"{len(reply.beams)} sequences")
    for beam in reply.beams:
        if (problem := _find_beam_problem(beam)) is not None:
            return problem
    logprobs = [beam.logprob for beam in reply.beams]
    if logprobs != sorted(logprobs, reverse=True):
        return Problem(
            "beams", "must have the likeliest sequence first", f"log-probabilities {_format_numbers(logprobs)}"
        )
    return None


def _find_beam_problem(beam: Any) -> Problem | None:
    """The first field of a Beam that does not fit, or has an impossible value."""
    if not isinstance(beam, Beam):
        return Problem("beams", "must be of type Beam (study/engines/engine_interface.py)", _describe_value(beam))
    logprob = beam.logprob
    if not isinstance(logprob, Real) or not logprob <= ROUNDING:  # also NaN
        return Problem("logprob", "must be the logarithm of a probability, at most 0", repr(logprob), _LOGARITHMS)
    if beam.finish_reason not in _FINISH_REASONS:
        return Problem("finish_reason", f"must be {' or '.join(_FINISH_REASONS)}", repr(beam.finish_reason))
    problem = _find_text_problem("text", beam.text)
    return problem or _find_array_problem("token_ids", beam.token_ids, (_count_entries(beam.token_ids),), "id")


def find_prompts_problem(reply: Any, n_prompts: int) -> Problem | None:
    """Why a reply is not `n_prompts` rendered prompts."""
    if problem := _find_list_problem("prompts", reply, n_prompts):
        return problem
    return next(filter(None, map(_find_prompt_problem, reply)), None)


def _find_prompt_problem(prompt: Any) -> Problem | None:
    """The first field of a RenderedPrompt whose type does not fit."""
    if not isinstance(prompt, RenderedPrompt):
        return Problem(
            "prompts", "must be of type RenderedPrompt (study/engines/engine_interface.py)", _describe_value(prompt)
        )
    problem = _find_text_problem("hash", prompt.hash)
    return problem or _find_array_problem("token_ids", prompt.token_ids, (_count_entries(prompt.token_ids),), "id")


def find_token_ids_problem(reply: Any, texts: Sequence[str]) -> Problem | None:
    """Why a reply is not the token ids of each of the texts, or None for a text that has none."""
    if problem := _find_list_problem("token_ids", reply, len(texts)):
        return problem
    for ids in reply:
        if ids is not None and (problem := _find_array_problem("token_ids", ids, (_count_entries(ids),), "id")):
            return problem
    return None


def find_token_texts_problem(reply: Any, responses: Sequence[Sequence[int]]) -> Problem | None:
    """Why a reply is not the texts of each response's tokens; a refused response has none."""
    if (problem := _find_list_problem("token_texts", reply, len(responses))) is not None:
        return problem
    for texts, ids in zip(reply, responses, strict=True):
        if not isinstance(texts, Sequence) or len(texts) not in (0, len(ids)):
            must = f"must have a text for each of the {len(ids)} tokens of a response"
            return Problem("token_texts", must, _describe_value(texts))
        if problem := _find_array_problem("token_texts", texts, (len(texts),), "text"):
            return problem
    return None


def find_provenance_problem(provenance: Any) -> Problem | None:
    """Why an engine's `provenance` cannot be recorded."""
    if not isinstance(provenance, dict):
        return Problem("provenance", "must be a dict", _describe_value(provenance))
    for name in ("engine", "engine_version", "logprobs_mode"):
        if name not in provenance:
            return Problem("provenance", f"must have the key '{name}'", f"the keys {', '.join(map(str, provenance))}")
    for name, value in provenance.items():
        if not isinstance(name, str) or not isinstance(value, str):
            return Problem(f"provenance[{name!r}]", "must be a text", _describe_value(value))
    return None


def _find_list_problem(field: str, reply: Any, length: int) -> Problem | None:
    """Why a reply is not a list of this length."""
    if isinstance(reply, str) or not isinstance(reply, Sequence) or len(reply) != length:
        return Problem(field, f"must be a list of {length}, one for each that was asked", _describe_value(reply))
    return None


def _find_text_problem(field: str, value: Any) -> Problem | None:
    """Why a field's value is not a text, or not one that can be stored as UTF-8."""
    if not isinstance(value, str):
        return Problem(field, "must be a text", _describe_value(value))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        was = repr(value[error.start : error.end])[:40]
        return Problem(
            field,
            "must be Unicode without half of a surrogate pair",
            was,
            "use llm_client.request_results.make_storable(text)",
        )
    return None


def _find_count_problem(field: str, value: Any) -> Problem | None:
    """Why a field's value is not a number of tokens that fits into 32 bits."""
    if isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) <= _LARGEST:
        return None
    return Problem(field, "must be a number of tokens, 0 or more", _describe_value(value))


def _find_array_problem(field: str, value: Any, shape: tuple[int, ...], kind: str) -> Problem | None:
    """Why a value is not an array of this shape, whose `kind` of entries is `float`, `id` or `text`."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        return Problem(
            field, _describe_array(shape, kind), "lists of different lengths", _PAD if len(shape) > 1 else ""
        )
    if array.shape != shape:
        has_other_width = array.ndim == len(shape) == 2 and array.shape[0] == shape[0]
        was = "None" if value is None else f"the shape {array.shape}"
        return Problem(field, _describe_array(shape, kind), was, _PAD if has_other_width else "")
    if not array.size:
        return None
    if kind == "text":
        return _find_texts_problem(field, array, shape)
    numpy_kinds = "f" if kind == "float" else "iu"
    if array.dtype.kind not in numpy_kinds:
        return Problem(field, _describe_array(shape, kind), f"the dtype {array.dtype}")
    if kind == "id" and not (array.min() >= 0 and array.max() <= _LARGEST):
        return Problem(field, _describe_array(shape, kind), f"ids from {array.min()} to {array.max()}")
    return None


def _find_texts_problem(field: str, texts: np.ndarray, shape: tuple[int, ...]) -> Problem | None:
    """Why an array does not have texts only that can be stored; `shape` is for the message."""
    entries = texts.ravel().tolist()
    for entry in entries:
        if type(entry) is not str:
            return Problem(field, _describe_array(shape, "text"), f"an array with {_describe_value(entry)}")
    return _find_text_problem(field, "".join(entries))


_KINDS = {"float": "floats (float32, nats)", "id": "token ids (uint32)", "text": "texts"}


def _describe_array(shape: tuple[int, ...], kind: str) -> str:
    """What a field must be, for an error: `must be an array of token ids (uint32) of the shape (3,)`."""
    per_token = f", {TOP_K} for each of {shape[0]} tokens" if len(shape) == 2 else ""
    return f"must be an array of {_KINDS[kind]} of the shape {shape}{per_token}"


def _count_entries(values: Any) -> int:
    """The number of entries; -1, which no array has, without a length."""
    return len(values) if hasattr(values, "__len__") else -1


def _describe_value(value: Any) -> str:
    """A value's type, with the value or its length: `int 5`, `list of length 3`."""
    if value is None:
        return "None"
    text = f" {value!r}" if isinstance(value, str | int | float) else ""
    length = f" of length {len(value)}" if isinstance(value, list | tuple | dict) else ""
    return f"{type(value).__name__}{text[:60]}{length}"


def _format_numbers(values: Any) -> str:
    """A number, or the first few of several."""
    numbers = np.atleast_1d(np.asarray(values, dtype=np.float64))
    first = ", ".join(f"{value:.6g}" for value in numbers[:3])
    if len(numbers) == 1:
        return first
    end = ", ..." if len(numbers) > 3 else ""
    return f"[{first}{end}]"
