"""Config files: `load_config` reads, checks and completes them; and the JSON schema of a study's config."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from entropy_sentinel.core import extensions
from entropy_sentinel.core.cache_folders import BASE, TREE
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.registry_entries import lacks_version, load_values
from entropy_sentinel.core.secrets import SECRET_WARNING, find_secret_keys, mask_keys
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.core.validation_errors import describe_error
from entropy_sentinel.study.config.config_completion import complete_config
from entropy_sentinel.study.config.local_files import find_missing_files, find_unfit_rows
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.config.yaml_values import NESTING_PROBLEM, find_value_problems, read_yaml
from entropy_sentinel.study.items.benchmark_settings import prefer_user_sources


def read_config(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Config files as one dict, merged as by Snakemake: dicts are merged, other values of a later file replace.

    The result is not checked: see `load_config`. Raises ConfigError for a file that is absent or not a YAML mapping.
    """
    config: dict[str, Any] = {}
    for path in paths:
        try:
            config = merge_sections(config, read_yaml(path))
        except RecursionError as error:  # a mapping that contains itself
            raise ConfigError(f"{path}: {NESTING_PROBLEM}") from error
    return config


def parse_values(texts: Iterable[str]) -> dict[str, Any]:
    """`KEY=VALUE` texts as a config; a value is YAML, as for Snakemake's --config.

    Raises ConfigError for a text of another form.
    """
    values: dict[str, Any] = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not re.fullmatch(r"[A-Za-z_][\w-]*", key):
            raise ConfigError(f"--config: must be KEY=VALUE, as in `--config limit=5`, got '{mask_keys(text):.100}'")
        try:
            values = merge_sections(values, {key: yaml.safe_load(value)})
        except yaml.YAMLError:
            raise ConfigError(f"--config: the value of '{key}' must be YAML, got '{mask_keys(value):.100}'") from None
    return values


def dump_resolved_yaml(config: Config) -> str:
    """The configuration as YAML with every key, from which `load_config` makes the same configuration."""
    content = config.model_dump(mode="json")
    for model in content["models"].values():
        model["extends"] = None  # its keys are written out
    return mask_keys(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))


def load_config(
    raw: Mapping[str, Any],
    source: str = "config",
    user_config: Mapping[str, Any] | None = None,
    roots: tuple[str, str] = ("results/", "logs/"),
) -> Config:
    """Check a configuration and fit it to what is run; `source` is the file name that errors begin with.

    Missing values are derived from what is run, and names that do not fit are left out (`Config.left_out`).
    `user_config` is the content of the user's files, if `raw` is that merged into the paper's study. `left_out` then
    has only keys of the user's files, and a benchmark's source that these set (a file or a data set) replaces the other
    kind of source. `roots` are
    the folders of results and of logs. Raises ConfigError with one line per problem: where, what it must be, what it
    was.
    """
    errors = find_value_problems(raw)
    if not errors:
        # Only by their values, because a key that looks like one may be the name of a model. Sections that take any key
        # check the names of theirs.
        errors = [f"{path}: {SECRET_WARNING}" for path in find_secret_keys(raw, by_name=False)]
    if not errors:
        errors = _use_extensions(raw)
    depends_on_names = False  # whether extensions that are absent may be the cause
    try:
        if not errors:
            config = complete_config(
                Config.model_validate(add_declared_benchmarks(_prefer_user_sources(raw, user_config or {})))
            )
            errors = find_missing_files(config) or list(find_unfit_rows(config))
    except ValidationError as error:
        errors = [_describe_problem(problem) for problem in error.errors()] + _describe_incomplete_base(raw)
        depends_on_names = True
    except ValueError as error:
        errors = [str(error)]
        depends_on_names = True
    if errors:
        lines = [f"{source}: {_format_line(problem)}" for problem in errors]
        raise ConfigError(extensions.explain_errors(lines) if depends_on_names else "\n".join(lines))
    config._roots = roots
    if user_config is not None:  # a line about a part that is left out begins with its key and a colon
        config._left_out = [line for line in config.left_out if _is_set(line.partition(":")[0], user_config)]
    return config


def _describe_incomplete_base(raw: Mapping[str, Any]) -> list[str]:
    """A line about a config.yaml of the working folder that replaces the paper's study and lacks sections, or nothing.

    Its author may have meant it as a file with only the keys that differ.
    """
    base = Path(BASE).absolute()
    missing = [name for name, field in Config.model_fields.items() if field.is_required() and name not in raw]
    if not missing or not base.is_file() or base == TREE / BASE:
        return []
    return [
        f"{base} replaces the paper's study, {TREE / BASE}, and has no {', '.join(missing)}; if it has only the keys "
        "that differ, give it another name and set it as --configfile"
    ]


def describe_unversioned_kinds(config: Config) -> list[str]:
    """A line for each class of an extension, of a model or judge of the study, that states no VERSION.

    Responses and labels cost GPU time or money, so a version replaces the hash of their code: an edit alone rebuilds
    nothing.
    """
    run = config.run
    kinds: dict[type, str] = {}  # the class of each model or judge, and what its edits do not rebuild
    for name in run.models:
        if config.models[name].ENGINE:
            kinds.setdefault(type(config.models[name]), f"models.{name}: edits of its code regenerate no responses")
    judges_in_use = product(run.judges, run.benchmarks) if config.reads_labels else ()
    for judge, benchmark in judges_in_use:
        for name in config.basic_judges(judge, benchmark):
            if not config.judges[name].IMPORTED:
                kinds.setdefault(type(config.judges[name]), f"judges.{name}: edits of its code rebuild no labels")
    lines = []
    for kind, effect in kinds.items():
        if lacks_version(kind):
            name = f"{kind.__module__}.{kind.__qualname__}"
            line = "VERSION: ClassVar[int] = 1"
            lines.append(f"{effect}, because {name} has no VERSION; write `{line}`, and raise it when results change")
    return lines


def _use_extensions(raw: Mapping[str, Any]) -> list[str]:
    """Add the config's extensions; give the error as a list of one line, which is empty if all could be added.

    Raises TooLateError, with which the command begins again.
    """
    try:
        extensions.add_extensions(raw.get("extensions") or [])
    except extensions.TooLateError:
        raise
    except ConfigError as error:
        return [str(error)]
    return []


def _prefer_user_sources(raw: Mapping[str, Any], user_config: Mapping[str, Any]) -> dict[str, Any]:
    """The config without the source of a benchmark's rows, a file or data set, if the user's files set the other."""
    benchmarks, user_benchmarks = raw.get("benchmarks"), user_config.get("benchmarks")
    if not isinstance(benchmarks, Mapping) or not isinstance(user_benchmarks, Mapping):
        return dict(raw)  # nothing to prefer; a value of another type is refused later
    return {**raw, "benchmarks": prefer_user_sources(benchmarks, user_benchmarks)}


def add_declared_benchmarks(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The config with the benchmarks that extensions declare, below those of the config with the same names."""
    benchmarks = raw.get("benchmarks")
    if not isinstance(benchmarks, Mapping | None):
        return dict(raw)
    declared_benchmarks: dict[str, Any] = load_values("benchmarks", dict)
    all_benchmarks = merge_sections(declared_benchmarks, benchmarks or {})
    return {**raw, "benchmarks": prefer_user_sources(all_benchmarks, benchmarks or {})}


def _describe_problem(problem: Mapping[str, Any]) -> str:
    """The line of an error, with advice about values that YAML reads as something else than text."""
    is_no_text = problem["type"] == "string_type" and isinstance(problem["input"], int | float)
    return describe_error(problem) + ("; put it in quotes" if is_no_text else "") + _describe_declaration(problem)


def _describe_declaration(problem: Mapping[str, Any]) -> str:
    """The place of a benchmark's declaration, for the end of an error about a benchmark of an extension."""
    section, name = [*problem["loc"], None, None][:2]  # the location may be shorter
    if section != "benchmarks" or name not in extensions.load_declarations("benchmarks"):
        return ""
    return f" (declared in {extensions.describe_place('benchmarks', name)})"


def _is_set(key: str, user_config: Mapping[str, Any]) -> bool:
    """Whether the user's config files set a key such as `run.groups`."""
    section: Any = user_config
    for part in key.split("."):
        if not isinstance(section, Mapping) or part not in section:
            return False
        section = section[part]
    return True


def _format_line(text: str) -> str:
    """At most 1,000 characters of a text without secrets; control characters are escaped."""
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in mask_keys(text))
    return text if len(text) <= 1000 else f"{text[:997]}..."


def build_study_schema() -> str:
    """The JSON schema of a config file, which may be partial."""
    schema = Config.model_json_schema()
    return json.dumps(_make_partial(schema, schema["$defs"]), indent=2) + "\n"


def _make_partial(schema: Any, definitions: dict[str, Any]) -> Any:
    """A copy of the JSON schema without `required`, and with each `oneOf` (kinds of a section) as one object.

    A config file may set only some of the keys of a section, because it is merged over others.
    """
    if isinstance(schema, list):
        return [_make_partial(part, definitions) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if "oneOf" in schema:
        schema = _merge_kinds(definitions[part["$ref"].removeprefix("#/$defs/")] for part in schema["oneOf"])
    partial = {}
    for key, value in schema.items():
        # JSON Schema's own `required` is a list; a dict here would be a config key that is called "required".
        if key != "required" or isinstance(value, dict):
            partial[key] = _make_partial(value, definitions)
    return partial


def _merge_kinds(kinds: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One object with the keys of all kinds; a file may set a key to null to undo another file's value."""
    properties: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        for key, settings in kind["properties"].items():
            if settings not in properties.setdefault(key, []):
                properties[key].append(settings)
    merged = {key: {"anyOf": [*choices, {"type": "null"}]} for key, choices in properties.items()}
    return {"type": "object", "properties": merged, "additionalProperties": False}
