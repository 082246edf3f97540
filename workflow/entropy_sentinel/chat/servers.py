"""Addresses and limits of servers, as the workflow announces them to its jobs through the environment."""

import json
import os
from typing import Any
from urllib.parse import urlsplit

from entropy_sentinel.frames.errors import ConfigError

SERVERS = "ENTROPY_SENTINEL_SERVERS"


def announce_address(key: str, base_url: str) -> None:
    """Say where a server is that this job has started itself, by its key in the config."""
    servers = json.loads(os.environ.get(SERVERS, "{}"))
    own = {"base_url": base_url, "own_server": True}
    os.environ[SERVERS] = json.dumps(servers | {key: announced_server(key) | own})


def address_of(model: str, base_url: str | None) -> str | None:
    """Where requests to a model go, without user, password and query; None for the provider's own address.

    Where the config names no address, LiteLLM takes that of `PROVIDER_API_BASE` or `PROVIDER_BASE_URL`.
    """
    provider = model.split("/")[0].upper()
    given = base_url or os.environ.get(f"{provider}_API_BASE") or os.environ.get(f"{provider}_BASE_URL")
    if not given:
        return None
    parts = urlsplit(given)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}{parts.path.rstrip('/')}"


def announced_server(key: str) -> dict[str, Any]:
    """What the workflow said about a server, by its key in the config: `models.NAME.api` or `judges.NAME`.

    Raises ConfigError where it did not reach this job.
    """
    servers: dict[str, dict[str, Any]] = json.loads(os.environ.get(SERVERS, "{}"))
    if key not in servers:
        raise ConfigError(
            f"{key}: the server's address has not reached this job; the environment variable {SERVERS}, which the "
            "workflow sets, must be passed on to jobs"
        )
    return servers[key]
