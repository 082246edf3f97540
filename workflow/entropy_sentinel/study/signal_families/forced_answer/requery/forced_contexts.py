"""The contexts that the pass asks about for one part of the responses, and the rows (forced_answer_frames.py)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.judges.choice_options import list_options
from entropy_sentinel.judges.final_answers import find_final_answer
from entropy_sentinel.judges.judge_interface import Unclear
from entropy_sentinel.judges.reference_words import find_only_letter
from entropy_sentinel.schemas.generation_schema import CUT_OFF
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.study.engines.engine_interface import TokenIdEngine
from entropy_sentinel.study.engines.generation_section import AskedSettings
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS
from entropy_sentinel.study.signal_families.forced_answer.requery.trajectory import (
    Step,
    choose_positions,
    compute_area,
    compute_step,
    count_leading_tokens,
)

OPENING = "\\boxed{"
# Responses that are asked about at the same time, each in order of t: few enough to fit into the engine's cache.
BATCH_SIZE = 32
_ENDS_WITH_FIRST_TOKEN = "the final answer ends with the first token"
_TOKEN_TEXTS_DIFFER = "the texts of the tokens do not make up the response"


@dataclass(frozen=True)
class InsertedTokens:
    """The token ids inserted after x_t, (n,), and L, the number of the answer's tokens."""

    ids: tuple[int, ...]
    answer_tokens: int


class Boxes:
    r"""Converts answers to the token ids to insert: `\boxed{` and the answer without its last token.

    Token ids, not text: tokenising the text again could join the response's last token with the next text.
    """

    def __init__(self, engine: TokenIdEngine, name: str) -> None:
        r"""Errors begin with `name`, a key of the config.

        Raises ConfigError if the tokenizer has no tokens for `\boxed{`. A tokenizer that falls back to bytes has tokens
        for any text; these are used, although the model may never have seen a box.
        """
        self._engine = engine
        opening, closed = engine.token_ids([OPENING, f"{OPENING}0}}"])
        if opening is None or closed is None:
            raise ConfigError(
                f"{name}: its tokenizer has no tokens for '{OPENING}', which forced_answer inserts; leave "
                "forced_answer out of run.features for this model"
            )
        self.opening = opening
        self._closing = closed[-1]  # the token of `}`

    def box_answers(self, answers: Sequence[str]) -> dict[str, InsertedTokens | None]:
        """Each answer as inserted tokens; None for an answer without tokens in this vocabulary."""
        texts = list(dict.fromkeys(answers))
        boxes = self._engine.token_ids([f"{OPENING}{text}}}" for text in texts])
        return {text: self._drop_last_token(ids) if ids else None for text, ids in zip(texts, boxes, strict=True)}

    def letters(self, letters: Sequence[str]) -> dict[str, int]:
        """The token of each letter directly after the brace, for letters that are one token there."""
        boxes = self._engine.token_ids([f"{OPENING}{letter}}}" for letter in letters])
        tokens = {}
        for letter, box_ids in zip(letters, boxes, strict=True):
            if box_ids:
                boxed = self._drop_last_token(box_ids)
                if boxed.answer_tokens == 1 and boxed.ids == tuple(self.opening):
                    tokens[letter] = box_ids[len(boxed.ids)]
        return tokens

    def _drop_last_token(self, box_ids: Sequence[int]) -> InsertedTokens:
        r"""The tokens of `\boxed{answer}` without the last brace and the answer's last token.

        A token that joins the brace with the answer, such as `{\` in `\boxed{\frac12}`, belongs to the answer; so does
        one that joins its end with the closing brace. With `|` between tokens, and the answer's tokens in brackets:

            \boxed|{[1|2]}         gives  \boxed|{|1         and 2 answer tokens
            \boxed[{\|frac|12]}    gives  \boxed|{\|frac     and 3
            \boxed[{7]}            gives  \boxed|{           and 1
        """
        n_opening = 0  # leading tokens that are those of the opening alone
        for token, opening_token in zip(box_ids, self.opening, strict=False):
            if token != opening_token:
                break
            n_opening += 1
        end = len(box_ids) - (box_ids[-1] == self._closing)
        answer_tokens = end - n_opening
        # The only token of the answer begins with the brace; without it, the box would not be open.
        if answer_tokens == 1 and n_opening < len(self.opening):
            return InsertedTokens(tuple(self.opening), answer_tokens=1)
        # An empty answer has no token to leave out: the opening stays whole.
        return InsertedTokens(tuple(box_ids[: max(end - 1, n_opening)]), answer_tokens)


@dataclass
class Track:
    """One response with one inserted answer: the contexts after `positions`, and the engine's reply to each.

    `boxed` are the inserted tokens, `options` the tokens whose probability is kept, `steps` the replies by position.
    """

    prompt: Sequence[int]
    response: Sequence[int]
    boxed: tuple[int, ...]
    positions: Sequence[int]
    options: tuple[int, ...] = ()
    steps: dict[int, Step] = field(default_factory=dict)
    refused: str = ""

    def context(self, t: int) -> list[int]:
        r"""The prompt, x_1 .. x_t, `\boxed{` and the answer's first L - 1 tokens."""
        return [*self.prompt, *self.response[:t], *self.boxed]


@dataclass(frozen=True)
class Row:
    """A response and a kind of answer, with its track (what is asked about it) or the reason why it has none."""

    response: tuple[Any, ...]
    answer: str
    text: str | None = None
    answer_tokens: int | None = None
    tokens_to_answer: int | None = None
    letters: tuple[str, ...] = ()
    track: Track | None = None
    reason: str | None = None


def ask(
    part: pl.DataFrame, engine: TokenIdEngine, settings: Mapping[str, Any], asked_with: AskedSettings
) -> pl.DataFrame:
    """Rows of FORCED_ANSWERS for responses: traces with `prompt_ids`, `question` and `reference`.

    `settings` is the config's section `signals.forced_answer`; errors name the model of `asked_with`, the settings of
    the traces.
    """
    boxes = Boxes(engine, f"models.{asked_with['model']}")
    texts = engine.token_texts(part["token_ids"].to_list())
    responses = part.with_columns(cut_off=CUT_OFF).iter_rows(named=True)
    rows: list[Row] = []
    for response, token_texts in zip(responses, texts, strict=True):
        rows += _plan_rows(response, token_texts, boxes, settings)
    # A track is one response with one inserted answer. Rows may share a track, which is asked about once.
    tracks = {id(row.track): row.track for row in rows if row.track}
    _ask_tracks(list(tracks.values()), engine)
    return _build_frame(rows)


def unasked(part: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Rows without a trajectory for responses that cannot be asked about; their `unusable` has the reason."""
    rows: list[Row] = []
    for *response, reason in part.select(*RESPONSE, "unusable").rows():
        rows += [Row(tuple(response), kind, reason=reason) for kind in settings["answers"]]
    return _build_frame(rows)


def _plan_rows(
    row: Mapping[str, Any], texts: Sequence[str], boxes: Boxes, settings: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield a row for each kind of answer to insert into the response `row`, whose tokens have these `texts`.

    A row has a track (what is asked about it), or the reason why not. Kinds with the same inserted tokens share one.
    """
    response = tuple(row[key] for key in RESPONSE)
    kinds = settings["answers"]
    final_answer = _locate_final_answer(row, texts, settings.get("samples"))
    length = final_answer.tokens_to_answer
    if final_answer.reason is not None or length is None:
        for kind in kinds:
            yield Row(response, kind, tokens_to_answer=length, reason=final_answer.reason)
        return
    positions = choose_positions(settings["positions"], texts, length - 1)
    letters = _find_letters(row, boxes, settings)
    options = [letter for letter, _ in list_options(row["question"])]
    answers = {"own": final_answer.text, "reference": row["reference"], "none": None}
    tracks: dict[tuple[int, ...], Track] = {}
    for kind in kinds:
        text = _strip_answer(answers[kind], options)
        boxed, reason = _box_answer(kind, text, boxes)
        if boxed is None:
            yield Row(response, kind, text, tokens_to_answer=length, reason=reason)
            continue
        # A letter is an option only directly after the brace.
        allowed_letters = letters if boxed.ids == tuple(boxes.opening) else {}
        new_track = Track(row["prompt_ids"], row["token_ids"], boxed.ids, positions, tuple(allowed_letters.values()))
        yield Row(
            response,
            kind,
            text,
            boxed.answer_tokens,
            tokens_to_answer=length,
            letters=tuple(allowed_letters),
            track=tracks.setdefault(boxed.ids, new_track),
        )


class _LocatedAnswer(NamedTuple):
    """A response's final answer, and T, the number of its tokens up to the answer's end.

    `reason` is why the response is not asked about; None if it is.
    """

    text: str | None = None
    tokens_to_answer: int | None = None
    reason: str | None = None


def _locate_final_answer(row: Mapping[str, Any], texts: Sequence[str], n_asked_samples: int | None) -> _LocatedAnswer:
    """The final answer of the response `row`; only the first `n_asked_samples` of an item are asked about, if set."""
    if n_asked_samples is not None and row["sample"] >= n_asked_samples:
        rule = "only those are asked about (signals.forced_answer.samples)"
        return _LocatedAnswer(reason=f"not among the first {n_asked_samples} of its item; {rule}")
    try:
        answer = find_final_answer(row["text"], row["cut_off"])
    except Unclear as unclear:
        return _LocatedAnswer(reason=str(unclear))
    length = count_leading_tokens(texts, row["text"], answer.end)
    if length is None:
        return _LocatedAnswer(answer.text, reason=_TOKEN_TEXTS_DIFFER)
    if length < 2:  # an answer is inserted after a token before the answer's last one, and there is none
        return _LocatedAnswer(answer.text, length, _ENDS_WITH_FIRST_TOKEN)
    return _LocatedAnswer(answer.text, length)


def _find_letters(row: Mapping[str, Any], boxes: Boxes, settings: Mapping[str, Any]) -> dict[str, int]:
    """The letters of the question's options with their tokens; empty if a letter is not a single token."""
    letters = [letter for letter, _ in list_options(row["question"])] if settings["options"] else []
    tokens = boxes.letters(letters) if letters else {}
    return tokens if len(tokens) == len(letters) else {}


def _box_answer(kind: str, text: str | None, boxes: Boxes) -> tuple[InsertedTokens | None, str | None]:
    r"""The inserted tokens for a kind of answer, or None and the reason.

    For `own` and `reference`, `text` is that answer: the tokens of `\boxed{` and the answer without its last one. For
    `none`, only the opening of the box, so that the model answers next.
    """
    if kind == "none":
        return InsertedTokens(tuple(boxes.opening), answer_tokens=0), None
    if text is None:
        return None, "the item has no reference"
    if not text:
        return None, "the answer is empty"
    boxed = boxes.box_answers([text])[text]
    return boxed, None if boxed else f"the answer cannot be tokenised: {text!r}"


def _strip_answer(text: str | None, options: Sequence[str]) -> str | None:
    """An answer as in a box: without white space and dollar signs around it.

    If the question has `options` and the answer names one, return only the letter, as in references: C for `(C)`.
    """
    if text is None:
        return None
    letter = find_only_letter(text) if options else None
    return letter if letter in options else text.strip().strip("$").strip()


def _ask_tracks(tracks: Sequence[Track], engine: TokenIdEngine) -> None:
    """Ask for the next token at all positions t of all tracks, and add the replies to the tracks.

    A track is one response with one inserted answer. BATCH_SIZE of them advance together, each in order of t, so that
    their growing prefixes stay in the engine's cache.
    """
    questions: list[tuple[Track, int]] = []  # with t
    for first in range(0, len(tracks), BATCH_SIZE):
        batch = tracks[first : first + BATCH_SIZE]
        for index in range(max(len(track.positions) for track in batch)):
            questions += [(track, track.positions[index]) for track in batch if index < len(track.positions)]
    vocabulary = engine.vocabulary
    n_answered = 0
    for number, next_token in engine.next_tokens(track.context(t) for track, t in questions):
        track, t = questions[number]
        n_answered += 1
        if next_token.refused:
            track.refused = next_token.refused
        else:
            track.steps[t] = compute_step(next_token, vocabulary, track.options)
    if n_answered < len(questions):
        raise EntropySentinelError(f"the engine answered {n_answered} of {len(questions)} contexts")


def _build_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows as a frame of contract FORCED_ANSWERS."""
    records = []
    for row in rows:
        cells = {
            **dict(zip(RESPONSE, row.response, strict=True)),
            "answer": row.answer,
            "answer_text": row.text,
            "answer_tokens": row.answer_tokens,
            "tokens_to_answer": row.tokens_to_answer,
            "reason": row.reason,
        }
        records.append(cells | _build_trajectory(row))
    return FORCED_ANSWERS.frame(records)


def _build_trajectory(row: Row) -> dict[str, Any]:
    """A row's columns about the entropies after each position, and their area.

    Empty if the row was not asked about; only `reason` if the engine refused.
    """
    track, length = row.track, row.tokens_to_answer
    if track is None or length is None:
        return {}
    if track.refused:
        return {"reason": f"refused: {track.refused}"}
    steps = [track.steps[t] for t in track.positions]
    entropies, bounds = [step.entropy for step in steps], [step.bound for step in steps]
    area = compute_area(track.positions, entropies, length - 1)
    probabilities_by_option = None  # (n_options, n_positions)
    if row.letters:
        probabilities_by_option = [[step.options[index] for step in steps] for index in range(len(row.letters))]
    return {
        "positions": track.positions,
        "entropies": entropies,
        "missing_masses": [step.missing_mass for step in steps],
        "bounds": bounds,
        "options": list(row.letters) or None,
        "option_probabilities": probabilities_by_option,
        "eas": area,
        "mean_eas": area / (length - 1),
        "eas_bound": compute_area(track.positions, bounds, length - 1),
    }
