"""An LLM judge that asks a server on loopback."""

from typing import Any

from fake_api import FakeApi

from entropy_sentinel.judges.judge_registry import PROMPTS
from entropy_sentinel.judges.llm_judge import LlmJudge


def llm_judge(api: FakeApi, server: dict[str, Any] | None = None, **changes: Any) -> LlmJudge:
    """The judge `grok` with the paper's prompt; `server` and what it is asked with may be changed."""
    asked = {"model": "hosted_vllm/judge", "revision": None, "prompt": "corresponds", "shown": "response"}
    asked |= {"structured_output": True, "temperature": None, "max_tokens": 64, "messages": PROMPTS["corresponds"].chat}
    settings = {"version": 1, "judge": "grok", "kind": "llm", "llm": asked | changes}
    plain = {"base_url": api.base_url, "concurrency": 4, "timeout_s": 20, "retries": 3}
    return LlmJudge(settings, plain | (server or {}))
