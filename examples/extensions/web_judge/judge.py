"""The judge `web`: many requests at a time, each reply kept on the disk before it is used."""

import asyncio
import json
import logging
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import httpx
import tenacity

from entropy_sentinel.core.errors import ConfigError, EntropySentinelError
from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.llm_client.reply_cache import ReplyCache
from entropy_sentinel.llm_client.request_results import make_storable, mask_secrets
from entropy_sentinel.llm_client.server_settings import read_announced_server
from web_judge.settings import WebSettings

log = logging.getLogger(__name__)

# Space reserved for a stored reply, bytes; seconds between checks of the cache for a reply that another job requests.
_ROOM, _LOOK_AGAIN_S = 4096, 0.2
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 60.0
# Statuses of a request that the service will never answer: it is too long, or has a text that the service refuses.
_REFUSALS = (413, 422)
# Most characters of a reply that a reason shows.
_EXCERPT = 60


class WebJudge:
    """Asks the service about each case. `name` is the key in the config, with which errors begin."""

    def __init__(self, name: str, revision: str | None, server: dict[str, Any]) -> None:
        """Prepare for the service; `server` has the keys that labels do not depend on."""
        self.name, self._server, self._cache = name, server, ReplyCache()
        self._identity = {"web_judge": server["address"], "revision": revision}
        self._headers = _authorization(name, server["variable"])
        logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs every request

    @property
    def software(self) -> str:
        """The client's version."""
        return f"web judge, httpx {version('httpx')}"

    def judge(self, cases: Sequence[Case]) -> list[Verdict]:
        """One verdict per case, in order; null for an empty response and for a reply that is no judgement.

        After a failure no more requests are sent, those under way are finished and kept, and the error is raised.
        """
        return asyncio.run(self._judged(cases))

    async def _judged(self, cases: Sequence[Case]) -> list[Verdict]:
        places, failures = asyncio.Semaphore(self._server["concurrency"]), list[EntropySentinelError]()
        async with httpx.AsyncClient(headers=self._headers, timeout=None) as client:

            async def verdict(case: Case) -> Verdict:
                request = {"question": case.question, "response": case.response, "reference": case.reference}
                if not case.response.strip():
                    return Verdict(None, reason="empty response")
                async with places:
                    try:
                        reply = None if failures else await self._reply(client, request)
                    except EntropySentinelError as error:
                        failures.append(error)
                        reply = None
                return verdict_of(request, reply or "")

            verdicts = await asyncio.gather(*map(verdict, cases))
        if failures:
            raise failures[0]
        return verdicts

    async def _reply(self, client: httpx.AsyncClient, request: dict[str, str]) -> str:
        """The text of the reply to a request: from the cache, or else from the service.

        If another task or job has sent the same request, this one waits for its reply.
        """
        identity = {**self._identity, **request}
        while (claim := await asyncio.to_thread(self._cache.claim, identity, _ROOM)) is None:
            kept: str | None = await asyncio.to_thread(self._cache.get, identity)
            if kept is not None:
                return kept
            await asyncio.sleep(_LOOK_AGAIN_S)
        try:
            response = await self._sent(client, request)
            reply = str(make_storable(mask_secrets(response.text)))
            if response.is_success:
                await asyncio.to_thread(claim.keep, reply)
            return reply
        finally:
            claim.release()

    async def _sent(self, client: httpx.AsyncClient, request: dict[str, str]) -> httpx.Response:
        """The service's answer; errors that may pass are retried with growing pauses."""
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(_may_pass),
            stop=tenacity.stop_after_attempt(1 + self._server["retries"]),
            wait=tenacity.wait_exponential_jitter(
                multiplier=_FIRST_PAUSE_S, max=_LONGEST_PAUSE_S, jitter=_FIRST_PAUSE_S
            ),
            before_sleep=tenacity.before_sleep_log(log, logging.WARNING),
            reraise=True,
        )
        try:
            return await retrying(self._sent_once, client, request)
        except (httpx.HTTPError, TimeoutError) as error:
            # Nothing is chained: exceptions of clients carry requests, and those carry keys.
            raise EntropySentinelError(f"{self.name}: {self._server['address']}: {_brief(error)}") from None

    async def _sent_once(self, client: httpx.AsyncClient, request: dict[str, str]) -> httpx.Response:
        async with asyncio.timeout(self._server["timeout_s"]):
            response = await client.post(self._server["address"], json=request)
        if response.status_code not in _REFUSALS:
            response.raise_for_status()
        return response


def verdict_of(request: dict[str, str], text: str) -> Verdict:
    """The verdict in the text of a reply; null, with the exchange, if it has none."""
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    match reply:
        case {"correct": bool() as label}:
            return Verdict(label)
        case {"correct": None, "reason": str() as why}:
            reason = f"the service cannot decide: {make_storable(why)}"
        case _:
            reason = f"the service's reply is no judgement: '{' '.join(text.split())[:_EXCERPT]}'"
    return Verdict(None, reason=reason, exchange={"messages": [request], "reply": text})


def _authorization(name: str, variable: str | None) -> dict[str, str]:
    """The header with the key that an environment variable has."""
    if variable is None:
        return {}
    if not os.environ.get(variable):
        raise ConfigError(f"{name}.variable: the environment variable {variable} must hold the service's key, is empty")
    return {"Authorization": f"Bearer {os.environ[variable]}"}


def _may_pass(error: BaseException) -> bool:
    """Whether another try may succeed."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in (408, 429) or error.response.status_code >= 500
    return isinstance(error, (TimeoutError, httpx.TransportError))


def _brief(error: BaseException) -> str:
    """An error's class and message, with secrets masked."""
    return mask_secrets(" ".join(f"{type(error).__name__}: {error}".split()))


def make(settings: WebSettings) -> WebJudge:
    """The judge that the settings describe, at the address that the workflow has announced."""
    name = f"judges.{settings['judge']}"
    return WebJudge(name, settings.get("revision"), read_announced_server(name))
