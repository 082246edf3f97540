"""Ask a chat model whether a chunk states the fact for which it was found, as Tomov et al. did (Appendix C.1)."""

import re
from collections.abc import Sequence
from typing import Any

from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.request_results import Refusal
from entropy_sentinel.llm_client.server_settings import Prompt, Server

# The paper's prompt 4, verbatim. It does not state how a fact is worded; here it is the question, then the answer.
PROMPT = Prompt(
    version=1,
    user="You are an expert at verifying factual entailment. I.e., is the fact\npresent in the text?\n"
    'Given the following TEXT and FACT, answer with "yes" if the FACT\nfollows from the TEXT, or "no" if it does not.'
    "\n\nTEXT: {text}\nFACT: {fact}\nAnswer:",
)
_MAX_TOKENS = 16
_REPLY = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class Entailment:
    """Asks a model about chunks. `unclear` replies, neither yes nor no, and refusals count as no."""

    def __init__(self, model: str, base_url: str | None) -> None:
        """Prepare for a model under LiteLLM's name; sends nothing yet. A reply is kept, and never asked for again."""
        server = Server(model=model, base_url=base_url)
        server_options = server.model_dump(include={"concurrency", "timeout_s", "retries"})
        self._client = ChatClient("--entailment", model, base_url, **server_options, identity={"kept": "entailment 1"})
        self.n_asked = self.unclear = 0

    def count(self, texts: Sequence[str], fact: str) -> int:
        """How many texts entail the fact according to the model. Raises the errors of `ChatClient.ask`."""
        requests = []
        for text in texts:
            messages = PROMPT.render(text=text, fact=fact)
            requests.append({"messages": messages, "max_tokens": _MAX_TOKENS, "temperature": 0})
        replies = self._client.ask(requests, lambda reply: {"text": reply.text})
        verdicts = [_parse_verdict(reply) for _, reply in replies]
        self.n_asked += len(verdicts)
        self.unclear += verdicts.count(None)
        return verdicts.count("yes")


def _parse_verdict(reply: dict[str, Any] | Refusal) -> str | None:
    """The `yes` or `no` with which the reply begins; None for another reply."""
    match = None if isinstance(reply, Refusal) else _REPLY.match(reply["text"])
    return match[1].lower() if match else None
