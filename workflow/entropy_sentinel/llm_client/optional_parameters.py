"""Ask with parameters that not every model takes, such as log-probabilities, or without them if they are refused."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from entropy_sentinel.llm_client.chat_client import ChatClient
from entropy_sentinel.llm_client.request_results import RejectedRequestError, ServerReply


class OptionalParameters:
    """Parameters for the requests of a client. `accepted` is whether they are sent; null before the first request.

    They are left out if LiteLLM does not send them to the model's provider, or if the server rejects the first request
    that has them. Replies that are cached without them are used as they are, so nothing is paid for again.
    """

    def __init__(self, client: ChatClient, parameters: Mapping[str, Any]) -> None:
        self._client, self._parameters = client, parameters
        self.accepted: bool | None = None

    def ask(
        self, requests: Sequence[Mapping[str, Any]], keep: Callable[[ServerReply], Any], account: str = ""
    ) -> Iterator[tuple[int, Any]]:
        """Yield (position in `requests`, kept content of the reply or a Refusal), in the order of `ChatClient.ask`."""
        if self.accepted is None and not (self._parameters and self._client.supports(**self._parameters)):
            self.accepted = False
        if self.accepted is False:
            yield from self._client.ask(requests, keep, account=account)
            return
        extended = [
            request if self._client.has_reply(request) else {**request, **self._parameters} for request in requests
        ]
        done = set[int]()
        try:
            for position, reply in self._client.ask(extended, keep, account=account):
                done.add(position)
                # A request with the parameters was answered.
                self.accepted = self.accepted or extended[position] is not requests[position]
                yield position, reply
            return
        except RejectedRequestError:
            if self.accepted:
                raise
            self.accepted = False
        rest = [position for position in range(len(requests)) if position not in done]
        for place, reply in self._client.ask([requests[position] for position in rest], keep, account=account):
            yield rest[place], reply
