"""Addresses and limits of servers, as the workflow announces them to its jobs through the environment."""

import json
import os
from typing import Any

from entropy_sentinel.frames.errors import ConfigError

SERVERS = "ENTROPY_SENTINEL_SERVERS"


def announce_address(key: str, base_url: str) -> None:
    """Say where a server is that this job has started itself, by its key in the config."""
    servers = json.loads(os.environ.get(SERVERS, "{}"))
    os.environ[SERVERS] = json.dumps(servers | {key: announced_server(key) | {"base_url": base_url}})


def announced_server(key: str) -> dict[str, Any]:
    """What the workflow said about a server, by its key in the config: `models.NAME.api` or `judges.NAME`.

    Raises ConfigError where it did not reach this job.
    """
    servers = json.loads(os.environ.get(SERVERS, "{}"))
    if key not in servers:
        raise ConfigError(
            f"{key}: the server's address has not reached this job; the environment variable {SERVERS}, which the "
            "workflow sets, must be passed on to jobs"
        )
    return servers[key]
