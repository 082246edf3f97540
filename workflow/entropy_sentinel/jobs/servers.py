"""Addresses of servers, announced by the workflow to its jobs through the environment."""

import json
import os

from entropy_sentinel.chat.settings import SERVERS
from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.study import server_settings


def announce_servers(config: Config) -> None:
    """Put the addresses and limits of servers into the environment, which jobs inherit.

    They are no part of a job's settings: the same model at another address has nothing to answer again.
    """
    os.environ[SERVERS] = json.dumps(server_settings(config))
