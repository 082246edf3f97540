"""What tests of engines that outlive a job share."""

import time
from collections.abc import Callable
from typing import Any

SETTINGS: dict[str, Any] = {
    **{"model": "tiny", "weights": "a", "local": True, "revision": "1", "lora": None, "lora_revision": None, "seed": 1},
    **{"environment": {}, "engine_args": {}, "sampling": {"temperature": 0.5}},
}


def wait_for(condition: Callable[[], object], timeout_s: float = 20) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)
