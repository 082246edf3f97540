"""The LLM judge: it sees question, response and reference, and decides whether the response is correct.

Nothing in a response can look like part of the prompt. Special tokens are removed until none is left. A response is
quoted (each line begins with `> `) if it has headings of the prompt or looks like a reply of the judge. Any other
response is unchanged, so requests and paid labels stay the same.
"""

import json
import logging
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from entropy_sentinel.judges.final_answers import find_last_boxed
from entropy_sentinel.judges.judge_base import JudgeSettings, make_account
from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.judges.judgement_reading import (
    ALTERNATIVES,
    read_judgement,
    read_verdict_probability,
    select_last_steps,
    strip_logprobs,
)
from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.optional_parameters import OptionalParameters
from entropy_sentinel.llm_client.request_results import Refusal, ServerReply, mask_secrets
from entropy_sentinel.llm_client.server_settings import fill_chat, read_announced_server

# <|end|>, <|eot_id|>, DeepSeek's wide form, and the chat tokens of Llama, Gemma and Mistral; `<|x|>` is not a token.
_SPECIAL = re.compile(
    r"<\|[A-Za-z]\w+\|>|<｜[^｜<>\n]{2,40}｜>|</s>|<eos>|<bos>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>"
)
# Passes that look for tokens formed by removing others; deeper nesting is then taken apart at once.
_PASSES = 20
_PLACEHOLDER = re.compile(r"\{(?:question|response|reference)\}")
# A reply of the judge, in any spelling of its keys and values.
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
class VisibleText:
    """The text of a response as a judge sees it; `caution` names any part that addressed the judge."""

    text: str
    caution: str | None = None


def strip_special_tokens(text: str) -> VisibleText:
    """A text without special tokens at any depth, stripped, and a caution if tokens were inside it.

    Tokens at its ends are chat format: no caution.
    """
    rest = _SPECIAL.sub("", text)
    passes = 1
    while (shorter := _SPECIAL.sub("", rest)) != rest and passes < _PASSES:
        rest = shorter
        passes += 1
    # Nested deeper than _PASSES: spaces break all tokens that are left.
    if shorter != rest:
        rest = rest.replace("<", "< ").replace("[", "[ ")
    rest = rest.strip()
    # If only tokens at the ends were removed, nothing inside was omitted.
    return VisibleText(rest, None if passes == 1 and rest in text else "special tokens inside it are left out")


def quote_text(visible: VisibleText, headings: frozenset[str]) -> VisibleText:
    """The text, quoted if it has one of the prompt's `headings` or looks like a reply of the judge."""
    quotations = []
    if any(_is_heading(line, headings) for line in _split_lines(visible.text)):
        quotations.append("headings of the prompt in it are quoted")
    if _JUDGEMENT.search(_simplify_text(visible.text)):
        quotations.append("a judgement in it is quoted")
    if not quotations:
        return visible
    cautions = [visible.caution, *quotations] if visible.caution else quotations
    return VisibleText("\n".join(f"> {line}" for line in visible.text.splitlines()), "; ".join(cautions))


def list_headings(messages: Iterable[Mapping[str, str]]) -> frozenset[str]:
    """The headings around a prompt's placeholders: `correctanswer` for `# Correct Answer`; tags unchanged."""
    headings: set[str] = set()
    for message in messages:
        parts = _PLACEHOLDER.split(message["content"])
        for number, part in enumerate(parts):
            lines = [line for line in part.splitlines() if line.strip()]
            # The line before the placeholder that follows this part, and the line after the one that precedes it.
            neighbours = lines[-1:] * (number < len(parts) - 1) + lines[:1] * (number > 0)
            for line in neighbours:
                tags = re.findall(r"</?\w[^<>]*>", _simplify_text(line))
                headings |= set(tags or [_name_heading(_simplify_text(line))])
    return frozenset(headings - {""})


def _is_heading(line: str, headings: frozenset[str]) -> bool:
    """Whether a line is a heading, begins with one and a colon, has one after `#`, or contains a heading tag."""
    plain = _simplify_text(line)
    for heading in headings:
        if heading.startswith("<") and heading in plain:
            return True
    head, *after_hash = plain.split("#")
    without_prefix = re.sub(r"^[\W\d_]+", "", _COMMANDS.sub("", head))
    names = {_name_heading(plain), _name_heading(_NAME_ENDS.split(without_prefix)[0])}
    if names & headings:
        return True
    return any(_name_heading(text).startswith(tuple(headings)) for text in after_hash)


def _split_lines(text: str) -> Iterator[str]:
    """Yield the lines that a reader may see, including those separated by an escaped `\\n`."""
    for line in text.splitlines():
        yield from _WRITTEN_LINE_END.split(line)


def _simplify_text(text: str) -> str:
    """A text in lower-case Latin letters, without accents and invisible characters."""
    if text.isascii():
        return text.casefold()
    text = unicodedata.normalize("NFKD", text).translate(_LATIN)
    return "".join(char for char in text if unicodedata.category(char) not in ("Cf", "Mn")).casefold()


def _name_heading(plain: str) -> str:
    """The letters and digits of a heading without its number: `correctanswer` for `**3. Correct Answer:**`."""
    return re.sub(r"[\W_]+", "", _COMMANDS.sub("", plain)).lstrip("0123456789")


log = logging.getLogger(__name__)

# Part of a reply's cache key. Raise it when the cached content changes.
_CACHE_VERSION = "verdict 1"
_EXCERPT = 80
_LOG_EVERY = 200

_THINKING = re.compile(r"<(think|thinking|budget:thinking)>|.*</think", re.IGNORECASE)


# Whether to ask for log-probabilities; `auto` does where provider and server take the parameters.
Logprobs = Literal["auto", "on", "off"]


class Judgement(BaseModel):
    """The structure of the judge's reply."""

    model_config = ConfigDict(extra="forbid")

    success: bool


class LlmJudge:
    """A chat model behind an API. A reply is a label if it ends with one clear judgement."""

    def __init__(self, settings: JudgeSettings, server: Mapping[str, Any], logprobs: Logprobs = "off") -> None:
        """Prepare requests to the judge at `server`; sends nothing yet.

        With `logprobs`, verdicts have probabilities: with `auto`, if the server gives log-probabilities.
        """
        self._settings = settings["llm"]
        self._logprobs = logprobs
        self._names = set[str]()
        self._headings = list_headings(self._settings["messages"])
        self._client = ChatClient(
            f"judges.{settings['judge']}",
            self._settings["model"],
            **server,
            identity={"revision": self._settings["revision"], "kept": _CACHE_VERSION},
        )
        self._optional = OptionalParameters(self._client, ALTERNATIVES if logprobs == "auto" else {})

    @property
    def software(self) -> str:
        """LiteLLM's version, and the model names in the servers' replies so far."""
        return ", ".join([f"litellm {version('litellm')}", *sorted(self._names)])

    @property
    def counts(self) -> Mapping[str, int]:
        """The numbers of replies so far: `answered`, `cached`, `refused`."""
        return self._client.counts

    @property
    def spent_usd(self) -> float:
        """The cost of the answered requests of this process, or of all that share its ledger; 0 without prices."""
        return self._client.ledger.sums().spent

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null for an empty response, a refusal, or a reply without a judgement.

        Repeated cases are sent once. Raises the errors of `ChatClient.ask`.
        """
        verdicts = dict(self.iterate_verdicts(cases))
        return [verdicts[position] for position in range(len(cases))]

    def iterate_verdicts(self, cases: Sequence[Case]) -> Iterator[tuple[int, Verdict]]:
        """Yield (position in `cases`, verdict) for each case, as the replies come; requests are sent in order of cases.

        Repeated cases are sent once. Raises the errors of `ChatClient.ask`, after the verdicts that were paid for.
        """
        visible_texts = [self._select_visible(case) for case in cases]
        positions: dict[str, list[int]] = {}
        for position, (case, response) in enumerate(zip(cases, visible_texts, strict=True)):
            if response.text:
                request = self._build_request(case, quote_text(response, self._headings).text)
                positions.setdefault(json.dumps(request), []).append(position)
            else:
                yield position, Verdict(None, reason="empty response")
        requests = [json.loads(request) for request in positions]
        positions_of = list(positions.values())
        account = make_account(self._settings, cases[0].model, cases[0].benchmark) if cases else ""
        for done, (number, reply) in enumerate(
            self._optional.ask(requests, self._select_cached, account=account), start=1
        ):
            for position in positions_of[number]:
                yield position, self._make_verdict(requests[number], visible_texts[position], reply)
            if done % _LOG_EVERY == 0 or done == len(requests):
                log.info("%d of %d judged", done, len(requests))
        counts = self.counts
        log.info("%d calls, %d cached, %d refused", counts["answered"], counts["cached"], counts["refused"])

    def _select_visible(self, case: Case) -> VisibleText:
        """What the judge sees: the response or only its final answer, without special tokens."""
        whole = strip_special_tokens(case.response)
        return replace(whole, text=find_last_answer(whole.text)) if self._settings["shown"] == "answer" else whole

    def _build_request(self, case: Case, response: str) -> dict[str, Any]:
        """The request for a case: the prompt with its texts, and the settings of the judge."""
        messages = fill_chat(
            self._settings["messages"], question=case.question, response=response, reference=case.reference
        )
        request: dict[str, Any] = {"messages": messages, "max_tokens": self._settings["max_tokens"]}
        if self._settings["temperature"] is not None:
            request["temperature"] = self._settings["temperature"]
        if self._settings["structured_output"]:
            schema = {"name": "judgement", "schema": Judgement.model_json_schema(), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self._logprobs == "on":
            request |= ALTERNATIVES
        return request

    def _select_cached(self, reply: ServerReply) -> dict[str, Any]:
        """What is cached of a reply; log-probabilities only of its end, which has the verdict."""
        kept = _select_content(reply)
        steps = None if self._logprobs == "off" else select_last_steps(reply)
        return kept if steps is None else kept | {"steps": steps, "raw": strip_logprobs(reply.raw)}

    def _make_verdict(
        self, request: Mapping[str, Any], visible: VisibleText, reply: Mapping[str, Any] | Refusal
    ) -> Verdict:
        """The verdict in a judge's reply; without one, the reason and the exchange."""
        answer = visible.text if self._settings["shown"] == "answer" else None
        caution = quote_text(visible, self._headings).caution
        if isinstance(reply, Refusal):
            reason = f"the judge's server refuses: {reply.reason}"
            raw = reply.reason
        elif not _is_kept(reply):
            reason = "the judge's cached reply is damaged: delete it from the cache, and it is asked again"
            raw = str(reply)
        else:
            self._names |= {reply["model"]} - {""}
            text = _read_whole_reply(reply)
            if (label := read_judgement(text)) is not None:
                return Verdict(
                    label, answer, caution=caution, probability=read_verdict_probability(reply.get("steps"), label)
                )
            reason = _explain_unreadable(reply, text)
            raw = reply["raw"] or text
        return Verdict(
            label=None,
            answer=answer,
            reason=reason,
            exchange={"messages": request["messages"], "reply": raw},
            caution=caution,
        )


def make(settings: JudgeSettings) -> LlmJudge:
    """The judge that the settings describe, at the server that the workflow has announced."""
    return LlmJudge(settings, read_announced_server(f"judges.{settings['judge']}"))


def find_last_answer(text: str) -> str:
    """The last boxed expression, or else the last line; "" for an empty text."""
    if boxed := find_last_boxed(text):
        return boxed
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else ""


def _select_content(reply: ServerReply) -> dict[str, Any]:
    """What is cached of a reply, without its log-probabilities: model, text, finish reason, tokens and the raw text."""
    return {
        "model": mask_secrets(str(getattr(reply.parsed, "model", None) or "")),
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "raw": reply.raw,
    }


def _is_kept(reply: Any) -> bool:
    """Whether a reply has what `_select_content` keeps; a file of the cache may be damaged."""
    texts = ("model", "text", "finish_reason")
    return isinstance(reply, dict) and all(isinstance(reply.get(name), str) for name in texts) and "raw" in reply


def _read_whole_reply(reply: Mapping[str, Any]) -> str:
    """The model's whole reply, including `<think>...</think>`, which LiteLLM removes from the text.

    It excludes reasoning that a server returns separately, as `reasoning_content`.
    """
    try:
        content = json.loads(reply["raw"])["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        content = None
    return content if isinstance(content, str) else str(reply["text"])


def _explain_unreadable(reply: Mapping[str, Any], reply_text: str) -> str:
    """In one short line why a reply is not a judgement."""
    if reply["finish_reason"] == "length":
        return "the judge's reply is truncated at its max_tokens"
    text = " ".join(reply_text.split())
    if _THINKING.match(text):
        return "the judge's reply contains its thinking: start its server with a reasoning parser"
    return f"the judge's reply is not a judgement: '{text[:_EXCERPT]}'" if text else "the judge's reply is empty"
