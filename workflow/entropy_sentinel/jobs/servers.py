"""Addresses of servers, announced by the workflow to its jobs through the environment."""

import json
import os
from typing import Any

from entropy_sentinel.config.config import Config
from entropy_sentinel.frames.errors import ConfigError

_SERVERS = "ENTROPY_SENTINEL_SERVERS"


def announce_servers(config: Config) -> None:
    """Put the addresses and limits of servers into the environment, which jobs inherit.

    They are no part of a job's settings: the same model at another address has nothing to answer again.
    """
    servers = {
        name: model.api.model_dump(exclude={"model"}) for name, model in config.models.items() if model.kind == "api"
    }
    os.environ[_SERVERS] = json.dumps(servers)


def announced_server(model: str) -> dict[str, Any]:
    """What `announce_servers` said about a model's server; ConfigError where it did not reach this job."""
    servers = json.loads(os.environ.get(_SERVERS, "{}"))
    if model not in servers:
        raise ConfigError(
            f"models.{model}.api: the server's address has not reached this job; the environment variable {_SERVERS}, "
            "which the workflow sets, must be passed on to jobs"
        )
    return servers[model]
