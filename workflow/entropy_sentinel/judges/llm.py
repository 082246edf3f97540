"""The LLM as a judge: it is shown question, response and reference, and says whether they agree."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, ConfigDict

from entropy_sentinel.chat.client import ChatClient
from entropy_sentinel.chat.reply import Refusal, Reply
from entropy_sentinel.chat.servers import announced_server
from entropy_sentinel.chat.settings import filled
from entropy_sentinel.chat.text import masked
from entropy_sentinel.judges.answers import last_boxed
from entropy_sentinel.judges.judge import Case, Verdict
from entropy_sentinel.judges.settings import JudgeSettings, account
from entropy_sentinel.judges.showing import Shown, headings_of, quoted, without_special_tokens

log = logging.getLogger(__name__)

# Part of a reply's identity in the cache: raised when what is kept of it changes.
_KEPT = "verdict 1"
_EXCERPT = 80
_LOG_EVERY = 200

# One object with the one key, as JSON or as the paper's prompt spells it, in a code fence or not.
_REPLY = re.compile(r'\s*(```\w*\s*)?\{\s*"success"\s*:\s*([Tt]rue|[Ff]alse)\s*\}\s*(?(1)```\s*)')
_THINKING = re.compile(r"<(think|thinking|budget:thinking)>|.*</think", re.IGNORECASE)


class Judgement(BaseModel):
    """What the judge is to say: the structure of its reply."""

    model_config = ConfigDict(extra="forbid")

    success: bool


class LlmJudge:
    """A chat model behind an API. A reply that is not strictly a judgement is no label."""

    def __init__(self, settings: JudgeSettings, server: Mapping[str, Any]) -> None:
        """Prepare for a judge at its `server`; sends nothing yet."""
        self._asked = settings["llm"]
        self._names = set[str]()
        self._headings = headings_of(self._asked["messages"])
        self._client = ChatClient(
            f"judges.{settings['judge']}",
            self._asked["model"],
            **server,
            identity={"revision": self._asked["revision"], "kept": _KEPT},
        )

    @property
    def version(self) -> str:
        """LiteLLM's, and what the servers have called their models in the replies so far."""
        return ", ".join([f"litellm {version('litellm')}", *sorted(self._names)])

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null for an empty response, a refusal, and a reply that is no judgement.

        The same case twice is asked once. Raises the errors of `ChatClient.ask`.
        """
        shown = [self._shown(case) for case in cases]
        verdicts = [Verdict(None, reason="empty response")] * len(cases)
        positions: dict[str, list[int]] = {}
        for position, (case, response) in enumerate(zip(cases, shown, strict=True)):
            if response.text:
                request = self._request(case, quoted(response, self._headings).text)
                positions.setdefault(json.dumps(request), []).append(position)
        requests = [json.loads(request) for request in positions]
        same = list(positions.values())
        whose = account(self._asked, cases[0].model, cases[0].benchmark) if cases else ""
        for done, (number, reply) in enumerate(self._client.ask(requests, _keep, account=whose), start=1):
            for position in same[number]:
                verdicts[position] = self._verdict(requests[number], shown[position], reply)
            if done % _LOG_EVERY == 0 or done == len(requests):
                log.info("%d of %d judged", done, len(requests))
        counts = self._client.counts
        log.info("%d calls, %d cached, %d refused", counts["answered"], counts["cached"], counts["refused"])
        return verdicts

    def _shown(self, case: Case) -> Shown:
        """What is shown of a response: the whole of it or its final answer, without special tokens."""
        whole = without_special_tokens(case.response)
        return replace(whole, text=final_answer(whole.text)) if self._asked["shown"] == "answer" else whole

    def _request(self, case: Case, shown: str) -> dict[str, Any]:
        messages = filled(self._asked["messages"], question=case.question, response=shown, reference=case.reference)
        request: dict[str, Any] = {"messages": messages, "max_tokens": self._asked["max_tokens"]}
        if self._asked["temperature"] is not None:
            request["temperature"] = self._asked["temperature"]
        if self._asked["structured_output"]:
            schema = {"name": "judgement", "schema": Judgement.model_json_schema(), "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return request

    def _verdict(self, request: Mapping[str, Any], shown: Shown, reply: Mapping[str, Any] | Refusal) -> Verdict:
        answer = shown.text if self._asked["shown"] == "answer" else None
        caution = quoted(shown, self._headings).caution
        if isinstance(reply, Refusal):
            reason, raw = f"the judge's server refuses: {reply.reason}", reply.reason
        else:
            self._names |= {reply["model"]} - {""}
            said = _said(reply)
            if found := _REPLY.fullmatch(said):
                return Verdict(found[2] in ("true", "True"), answer, caution=caution)
            reason, raw = _unreadable(reply, said), reply["raw"] or said
        return Verdict(None, answer, reason, {"messages": request["messages"], "reply": raw}, caution)


def make(settings: JudgeSettings) -> LlmJudge:
    """The judge of the settings, at the server that the workflow has announced."""
    return LlmJudge(settings, announced_server(f"judges.{settings['judge']}"))


def final_answer(text: str) -> str:
    """The last boxed expression, or else the last line; "" of an empty text."""
    boxed = last_boxed(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return boxed if boxed else lines[-1] if lines else ""


def _keep(reply: Reply) -> dict[str, Any]:
    return {
        "model": masked(str(getattr(reply.parsed, "model", None) or "")),
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "raw": reply.raw,
    }


def _said(reply: Mapping[str, Any]) -> str:
    """All that the model said in place of its answer, also `<think>...</think>`, which LiteLLM takes out of the text.

    What a server keeps apart itself, as `reasoning_content`, is none of it.
    """
    try:
        content = json.loads(reply["raw"])["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError):
        content = None
    return content if isinstance(content, str) else str(reply["text"])


def _unreadable(reply: Mapping[str, Any], said: str) -> str:
    """Why a reply is no judgement, in one short line."""
    if reply["finish_reason"] == "length":
        return "the judge's reply is cut off at its max_tokens"
    text = " ".join(said.split())
    if _THINKING.match(text):
        return "the judge's reply has its thinking in it: start its server with a reasoning parser"
    return f"the judge's reply is no judgement: '{text[:_EXCERPT]}'" if text else "the judge's reply is empty"
