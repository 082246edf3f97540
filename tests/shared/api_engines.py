"""The engine behind an API, as tests set it up."""

from typing import Any

from fake_api import FakeApi

from entropy_sentinel.study.engines.api_engine import LitellmEngine

SAMPLING = {"temperature": 0.5, "top_p": 1.0, "max_tokens": 16}


def engine(api: FakeApi | str, **changes: Any) -> LitellmEngine:
    """The engine of the model `tiny` at a server or address; `changes` are settings of either that differ."""
    base_url = api if isinstance(api, str) else api.base_url
    server = {"base_url": base_url, "concurrency": 4, "timeout_s": 20, "retries": 3}
    server |= {key: changes.pop(key) for key in server.keys() & changes.keys()}
    settings = {"model": "tiny", "revision": None, "api": {"model": "hosted_vllm/tiny"} | server, "sampling": SAMPLING}
    return LitellmEngine(settings | {"chat_template_kwargs": {}, "environment": {}} | changes)
