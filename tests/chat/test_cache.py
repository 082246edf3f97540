"""The cache of replies: what was paid for by earlier versions is found."""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from fake_api import completion, fake_api, ok, user

from entropy_sentinel.chat.cache import LAYOUT, ReplyCache
from entropy_sentinel.engines.api import LitellmEngine

SETTINGS = {
    "model": "tiny",
    "revision": "r1",
    "sampling": {"temperature": 0.5, "top_p": 1.0, "max_tokens": 16},
    "chat_template_kwargs": {"enable_thinking": False},
    "template_date": None,
    "trace_after": None,
    "lora": None,
    "environment": {},
}


def test_a_reply_that_version_0_1_paid_for_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path))
    assert LAYOUT == 1
    # As LitellmEngine wrote it before the client stood on its own.
    request = {
        "model": "hosted_vllm/tiny",
        "base_url": None,
        "messages": [{"role": "user", "content": "What is 6 x 7?"}],
        "seed": 42,
        "logprobs": True,
        "top_logprobs": 20,
        "temperature": 0.5,
        "top_p": 1.0,
        "max_tokens": 16,
        "extra_body": {"chat_template_kwargs": {"enable_thinking": False}},
        "revision": "r1",
    }
    reply = {
        "model": "tiny-2024",
        "system_fingerprint": None,
        "prompt_tokens": 9,
        "finish_reason": "stop",
        "text": "paid for",
        "tokens": ["paid"],
        "token_logprobs": [-1.5],
        "top_logprobs": [[-1.5, *(-float(rank) for rank in range(2, 21))]],
    }
    name = hashlib.sha256(json.dumps([1, request], sort_keys=True).encode()).hexdigest()
    assert name == "8be7d9d077c1c5d0973bf5e2930d8873774dfac0b23187c70ef705b704807f22"
    path = tmp_path / "replies" / name[:2] / f"{name}.json.gz"
    path.parent.mkdir(parents=True)
    path.write_bytes(gzip.compress(json.dumps({"request": request, "reply": reply}).encode(), mtime=0))
    with fake_api(lambda *_: ok(completion("paid again"))) as api:
        server = {"model": "hosted_vllm/tiny", "base_url": api.base_url}
        limits = {"concurrency": 4, "timeout_s": 20, "retries": 3}
        for _ in range(2):
            engine = LitellmEngine(SETTINGS | {"api": server | limits})
            ((position, response),) = engine.answer([user("What is 6 x 7?")], [42])
        assert not api.requests
        with fake_api(lambda *_: ok(completion("of another"))) as other:
            another = LitellmEngine(SETTINGS | {"api": server | limits | {"base_url": other.base_url}})
            ((_, of_another),) = another.answer([user("What is 6 x 7?")], [42])
        # It did not say which server gave it: it is now of the first that asked for it.
        assert (len(other.requests), of_another.text) == (1, "of another")
    assert (position, response.text, response.prompt_tokens) == (0, "paid for", 9)
    assert response.top_logprobs.tolist() == np.float32(reply["top_logprobs"]).tolist()
    assert engine.provenance["engine_version"].endswith(", tiny-2024")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(bytes(5000), id="room-that-a-killed-process-had-reserved"),
        pytest.param(b"\x1f\x8b half a file", id="half"),
        pytest.param(gzip.compress(b"[1]"), id="a-list"),
        pytest.param(gzip.compress(b"{}"), id="no-request"),
    ],
)
def test_a_file_that_cannot_be_read_is_no_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setenv("ENTROPY_SENTINEL_CACHE", str(tmp_path))
    cache = ReplyCache()
    cache.claim({"q": 1}, 100).keep({"a": 2})
    assert cache.get({"q": 1}) == {"a": 2}
    assert cache.get({"q": 2}) is None
    next((tmp_path / "replies").rglob("*.gz")).write_bytes(content)
    assert cache.get({"q": 1}) is None
    # It is no claim either: whoever asks next may ask, and what is kept then takes its place.
    cache.claim({"q": 1}, 100).keep({"a": 3})
    assert cache.get({"q": 1}) == {"a": 3}
