"""Logs in parts, one for each file: the names of parts, and what their jobs depend on."""

import glob
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.monitor.settings import ASKING_OPTIONS, READING_OPTIONS

KEYS = ("estimator", "logs", "folder", "options")


class Partitions:
    """The config of `workflow/monitor.smk`, checked: `estimator`, `logs`, `folder`, `options` of the verb `monitor`."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """ConfigError for a key that is unknown or not there, and for a pattern that no file matches."""
        for key in config:
            if key not in KEYS:
                raise ConfigError(f"unknown key '{key}'; known keys: {', '.join(KEYS)}")
        for key in KEYS[:3]:
            if not config.get(key):
                raise ConfigError(f"{key}: must be there; keys: {', '.join(KEYS)}")
        self.estimator, self.folder = config["estimator"], config["folder"]
        self.options = dict(config.get("options") or {})
        known = [name for name in (*READING_OPTIONS, *ASKING_OPTIONS) if name != "state"]
        for name in self.options:
            if name not in known:
                raise ConfigError(f"options: unknown '{name}'; known: {', '.join(known)}")
        logs = [config["logs"]] if isinstance(config["logs"], str) else config["logs"]
        self.logs = {_name(path): path for pattern in logs for path in _matches(pattern)}

    @property
    def reading(self) -> dict[str, Any]:
        """The options that the jobs of the parts depend on."""
        return {name: value for name, value in self.options.items() if name in READING_OPTIONS}


def _matches(pattern: str) -> list[str]:
    found = sorted(path for path in glob.glob(pattern, recursive=True) if Path(path).is_file())
    if not found:
        raise ConfigError(f"logs: {pattern}: is no file, and no pattern that a file matches")
    return found


def _name(path: str) -> str:
    """The name of a file's part: readable, and not that of another file."""
    digest = hashlib.sha256(str(Path(path).absolute()).encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9._-]', '-', Path(path).name)}-{digest[:8]}"
