"""Read the config of `workflow/monitor.smk`, where each log file is a part, and write its JSON schema."""

import glob
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.option_classes import validate_section
from entropy_sentinel.monitor.labelling.option_checks import check_labelled_options
from entropy_sentinel.monitor.monitor_options import MonitorFile, Reading, is_event_file

# For nullable numbers, Pydantic writes bounds under its own names instead of JSON schema's.
_BOUNDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum"}


class Partitions:
    """The checked config of `workflow/monitor.smk`; see `MonitorFile`."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Check the config; raise ConfigError for an invalid key or option, and for a pattern without files."""
        file = validate_section(MonitorFile, {key: value for key, value in config.items() if value is not None})
        self.estimator, self.folder = file.estimator, file.folder
        if self.estimator is None:
            check_labelled_options(file.options)
        # Only the options that the user set, so that jobs do not depend on defaults.
        self.options = dict(config.get("options") or {})
        if "events" in self.options:  # YAML reads their days as dates, which jobs cannot pass on
            self.options["events"] = list(file.options.events)
        self.logs: dict[str, str] = {}
        for pattern in file.logs:
            paths = [path for path in glob.glob(pattern, recursive=True) if Path(path).is_file()]
            if not paths:
                raise ConfigError(f"logs: {pattern}: there is no such file, and no file matches this pattern")
            for path in sorted(paths):
                self.logs[_name_part(path)] = path

    @property
    def event_files(self) -> list[str]:
        """The files with events."""
        return [entry for entry in self.options.get("events", []) if is_event_file(entry)]

    @property
    def reading(self) -> dict[str, Any]:
        """The options that the jobs of the parts depend on."""
        return {name: value for name, value in self.options.items() if name in Reading.model_fields}


def _name_part(path: str) -> str:
    """A readable and unique name for a file's part."""
    digest = hashlib.sha256(str(Path(path).absolute()).encode()).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9._-]', '-', Path(path).name)}-{digest[:8]}"


def monitor_schema() -> str:
    """The JSON schema of `MonitorFile`; a test compares it with the file in `workflow/schemas/`."""
    return json.dumps(_rename_bounds(MonitorFile.model_json_schema()), indent=2) + "\n"


def _rename_bounds(schema: Any) -> Any:
    """The schema with the bounds of numbers renamed as JSON schema requires."""
    if isinstance(schema, list):
        return [_rename_bounds(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {_BOUNDS.get(key, key): _rename_bounds(value) for key, value in schema.items()}
