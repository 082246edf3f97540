"""The JSON schema for editors: a config file may hold a part of the configuration, and no more than that."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from documented import DOCUMENTS, blocks

from entropy_sentinel.monitor.partitions import monitor_schema
from entropy_sentinel.study.config.config_loading import build_study_schema

ROOT = Path(__file__).parents[3]
SCHEMAS = {"study": build_study_schema, "monitor": monitor_schema}
SCHEMA, MONITOR = (json.loads(SCHEMAS[name]()) for name in ("study", "monitor"))
# Parts of a study, in all that is written for users; the files of the monitor and of a proxy are others.
SNIPPETS = [
    snippet
    for document in DOCUMENTS
    for snippet in blocks(document, "yaml")
    if not snippet.startswith(("# monitor.yaml", "# config.yaml of the proxy"))
]


def valid(raw: Any) -> bool:
    # As an editor sees it: a day is text.
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(json.dumps(raw, default=str)))


def installed(schema: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
    """A schema without the analyses, and their families, whose folders are not there."""
    for section, name in {"analyses": "Analyses", "signals": "FamilySettings"}.items():
        if name in made["$defs"]:
            for part in (schema["$defs"][name]["properties"], schema["properties"][section]["default"]):
                for key in part.keys() - made["$defs"][name]["properties"].keys():
                    del part[key]
    schema["$defs"] = {name: part for name, part in schema["$defs"].items() if name in made["$defs"]}
    return schema


@pytest.mark.parametrize(("name", "file"), [("study", "config"), ("monitor", "monitor")])
def test_schema_file_has_not_drifted(name: str, file: str) -> None:
    path = f"workflow/schemas/{file}.schema.json"
    made = json.loads(SCHEMAS[name]())
    written = installed(json.loads((ROOT / path).read_text()), made)
    assert json.dumps(written) == json.dumps(made), f"run: entropy-sentinel schema {name} -o {path}"
    jsonschema.Draft202012Validator.check_schema(made)


OF_MONITOR = [one for page in DOCUMENTS for one in blocks(page, "yaml") if one.startswith("# monitor.yaml")]


@pytest.mark.parametrize("snippet", OF_MONITOR)
def test_the_monitor_file_in_the_docs_is_valid(snippet: str) -> None:
    raw = yaml.safe_load(snippet)
    jsonschema.Draft202012Validator(MONITOR).validate(raw)
    wrong = {"level": (0, 1), "min_responses": (0,), "top_k": (0,), "fail_below": (1.5,), "windows": ("day",)}
    wrong |= {"window": ("fortnight",), "alert_on": (["fire"],), "state": ("folder",)}
    for options in ({key: value} for key, values in wrong.items() for value in values):
        assert not jsonschema.Draft202012Validator(MONITOR).is_valid(raw | {"options": options}), options


@pytest.mark.parametrize("name", ["config.yaml", "demo/config.yaml", "demo/full.yaml", "tests/workflow/tiny.yaml"])
def test_config_files_are_valid(name: str) -> None:
    assert valid(yaml.safe_load((ROOT / name).read_text()))


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_config_blocks_in_the_docs_are_valid(snippet: str) -> None:
    assert valid(yaml.safe_load(snippet))


def test_the_docs_contain_config_blocks() -> None:
    assert len(SNIPPETS) >= 6
    assert OF_MONITOR


@pytest.mark.parametrize(
    ("part", "fits"),
    [
        ({}, True),
        ({"study": "mine"}, True),
        ({"stduy": "mine"}, False),
        ({"models": {"qwen3-4b": {"engine_args": {"tensor_parallel_size": 2}}}}, True),
        ({"models": {"qwen3-4b": {"temprature": 1}}}, False),
        ({"models": {"qwen3-4b": {"id": None, "api": {"base_url": "http://a/v1"}}}}, True),
        ({"models": {"qwen3-4b": {"api": {"modle": "a"}}}}, False),
        ({"judges": {"people": {"path": "labels"}}}, True),
        ({"judges": {"people": {"kind": "oracle"}}}, False),
        ({"benchmarks": {"gsm8k": {"limit": 5}}}, True),
        ({"limit": "five"}, False),
        ({"run": {"sizes": [{"size": "all-but-one"}, {"size": 2, "configurations": "all"}]}}, True),
        ({"run": {"tables": [1]}}, False),
        ({"analyses": {"accuracy": {"figure_model": None}}}, True),
        ({"estimation": {"folds": 1}}, False),
        ({"presentation": {}}, False),
    ],
)
def test_a_partial_config_is_valid_and_errors_are_shown(part: dict[str, Any], fits: bool) -> None:
    assert valid(part) is fits
