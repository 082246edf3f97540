"""Config files: read, checked and fitted to what is run by `load_config`; and the JSON schema of a study's config."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from entropy_sentinel.config.files import missing_file, unfit_rows
from entropy_sentinel.config.fitting import fitted
from entropy_sentinel.config.plain import problems, read_yaml
from entropy_sentinel.config.sections import Config
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.secrets import LOOKS, is_secret_name, secret_keys, without_keys
from entropy_sentinel.frames.sections import merged
from entropy_sentinel.sources.settings import with_own_sources


def read_config(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Config files as one dict, each over those before it, as Snakemake does: dicts are merged, the rest is replaced.

    Not checked: see `load_config`. Raises ConfigError for a file that is absent, too large or no YAML mapping.
    """
    return reduce(merged, map(read_yaml, paths), {})


def load_config(raw: Mapping[str, Any], source: str = "config", own: Mapping[str, Any] | None = None) -> Config:
    """Check a configuration and fit it to what is run; `source` is the file name that errors begin with.

    Missing values are derived from what is run, and names that do not fit are left out (`Config.left_out`). `own` is
    the content of the user's own files, if `raw` is that merged into the paper's study. `left_out` then has only keys
    of the user's files, and a source of rows that these name replaces the other kind. Raises ConfigError with one line
    per problem: where, what it must be, what it was.
    """
    # Names are looked at where they are free; here they may be those of models.
    wrong = problems(raw) or [f"{path}: {LOOKS}" for path in secret_keys(raw, by_name=False)]
    try:
        if not wrong:
            config = fitted(Config.model_validate(_with_own_sources(raw, own or {})))
            wrong = [missing] if (missing := missing_file(config)) else list(unfit_rows(config))
    except ValidationError as error:
        wrong = [described(problem) for problem in error.errors()]
    except ValueError as error:
        wrong = [str(error)]
    if wrong:
        raise ConfigError("\n".join(f"{source}: {_one_line(problem)}" for problem in wrong))
    if own is not None:
        config._left_out = [line for line in config.left_out if _is_set(line.partition(":")[0], own)]
    return config


def _with_own_sources(raw: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    benchmarks, named = raw.get("benchmarks"), own.get("benchmarks")
    if not isinstance(benchmarks, Mapping) or not isinstance(named, Mapping):
        return dict(raw)
    return {**raw, "benchmarks": with_own_sources(benchmarks, named)}


def _is_set(key: str, files: Any) -> bool:
    """Whether config files set a key, `run.groups`; the lines on what is left out begin with one."""
    for part in key.split("."):
        if not isinstance(files, Mapping) or part not in files:
            return False
        files = files[part]
    return True


def _one_line(text: str) -> str:
    """At most 1,000 characters of a text without secrets, those that move the cursor as Python writes them."""
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in without_keys(text))
    return text if len(text) <= 1000 else f"{text[:997]}..."


# Pydantic's words for what is no word of YAML.
_SECTION_TYPES = ("model_type", "dict_type", "model_attributes_type", "section", "mapping_type")


def described(problem: Mapping[str, Any]) -> str:
    """One line for one of Pydantic's errors: `models.qwen3-4b: unknown key 'temprature'; ...`."""
    # In brackets are Pydantic's own words for a place: the kind of a model, the key of a dict. So is a judge's kind.
    where = ".".join(str(part) for part in problem["loc"] if not str(part).startswith("["))
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] in _SECTION_TYPES:
        message = "must be a section with keys"
    return f"{where}: {message}{_shown(problem)}" if where else f"{message}{_shown(problem)}"


def _shown(problem: Mapping[str, Any]) -> str:
    """What a value was, where it is short and no secret, and what to do about one that YAML reads as something else."""
    value = problem.get("input")
    secret = any(is_secret_name(str(part)) for part in problem["loc"]) or re.search("://.*@", str(value))
    if problem["type"] == "missing" or secret or not (isinstance(value, str | int | float | bool) or value is None):
        return ""
    text = json.dumps(value, ensure_ascii=False)
    text = text if len(text) <= 100 else f"{text[:97]}..."
    is_no_text = problem["type"] == "string_type" and value is not None
    return f"; it was {text}" + (", which is not a text: put it in quotes" if is_no_text else "")


def study_schema() -> str:
    """The JSON schema of a config file, which may be a part of the configuration."""
    schema = Config.model_json_schema()
    return json.dumps(_partial(schema, schema["$defs"]), indent=2) + "\n"


def _partial(schema: Any, definitions: dict[str, Any]) -> Any:
    """The schema with nothing required, and one object for the kinds of a thing."""
    if isinstance(schema, list):
        return [_partial(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "oneOf" in schema:
        schema = _any_kind(definitions[part["$ref"].removeprefix("#/$defs/")] for part in schema["oneOf"])
    # A list is the names of what is required; a key of the config of this name would be a dict.
    kept = {key: value for key, value in schema.items() if key != "required" or isinstance(value, dict)}
    return {key: _partial(value, definitions) for key, value in kept.items()}


def _any_kind(kinds: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One object with the keys of all kinds; each may be null, by which a file takes back what another one sets."""
    properties: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        for key, settings in kind["properties"].items():
            if settings not in properties.setdefault(key, []):
                properties[key].append(settings)
    merged = {key: {"anyOf": [*choices, {"type": "null"}]} for key, choices in properties.items()}
    return {"type": "object", "properties": merged, "additionalProperties": False}
