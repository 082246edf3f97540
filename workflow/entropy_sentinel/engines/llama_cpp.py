"""How a llama.cpp server draws tokens where a request does not say: as it was started, and as its GGUF file says.

A study that says neither means all tokens, as vLLM does. The server tells its own values at `/props`.
"""

import json
import logging
import urllib.request
from collections.abc import Mapping
from typing import Any

log = logging.getLogger(__name__)

_TIMEOUT_S = 10
# What leaves the model's distribution as it is, after temperature and top_p, which every request says.
_NEUTRAL = {"top_k": 0, "min_p": 0, "repeat_penalty": 1, "presence_penalty": 0, "frequency_penalty": 0}
# What a study can say itself.
_SAID = ("top_k", "min_p")


def drawn_otherwise(address: str, sampling: Mapping[str, object]) -> str | None:
    """What such a server does to the sampling of a study that does not say it, with what to do; None for nothing.

    `address` is where requests go, `http://localhost:8080/v1`. A server that does not tell is not asked again.
    """
    own = {name: value for name, value in _own(address).items() if name not in sampling}
    other = {name: value for name, value in own.items() if value != _NEUTRAL[name]}
    if not other:
        return None
    options = " ".join(f"--{name.replace('_', '-')} {_NEUTRAL[name]}" for name in other)
    values = ", ".join(f"{name} {value}" for name, value in other.items())
    said = ", ".join(f"{name}: {value}" for name, value in other.items() if name in _SAID)
    sets = f", or set it for this model: `sampling: {{{said}}}`" if other.keys() <= set(_SAID) else ""
    return f"llama.cpp would draw with {values}, which the study does not say; start llama-server with {options}{sets}"


def _own(address: str) -> dict[str, Any]:
    """The server's own values of what is in `_NEUTRAL`; nothing where it does not tell."""
    props = f"{address.removesuffix('/v1')}/props"
    try:
        with urllib.request.urlopen(props, timeout=_TIMEOUT_S) as reply:
            settings = json.loads(reply.read())["default_generation_settings"]
        own = settings.get("params", settings)
        found = {name: _short(own[name]) for name in _NEUTRAL if isinstance(own.get(name), int | float)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        log.warning("%s does not say how it draws tokens (%s); top_k and min_p may be its own", props, error)
        return {}
    # A top_k below 0 is none either.
    return {name: max(value, 0) if name == "top_k" else value for name, value in found.items()}


def _short(value: float) -> float:
    """A number as it was set, where the server has it in 32 bits: 0.05 for 0.05000000074505806."""
    return float(f"{value:.6g}") if isinstance(value, float) else value
