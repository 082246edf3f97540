"""An option stands once: what it is called, its default, its bounds and its words are the same wherever it is taken."""

import inspect
import json
import re
from pathlib import Path
from typing import Any, get_type_hints
from unittest.mock import Mock

import polars as pl
import pytest
import typer
from production import saved, traffic, written
from pydantic import TypeAdapter
from typer.testing import CliRunner

import entropy_sentinel as es
from entropy_sentinel.api import verb_options as keywords
from entropy_sentinel.cli.main import app
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.option_classes import Options
from entropy_sentinel.estimators.verdict_limits import Limits
from entropy_sentinel.logs.log_options import ReadOptions
from entropy_sentinel.monitor.monitor_options import EstimateOptions, JudgeOptions, MonitorOptions, SampleOptions
from entropy_sentinel.monitor.monitor_run import monitor
from entropy_sentinel.monitor.partitions import Partitions
from entropy_sentinel.monitor.showing.output_registry import OUTPUTS

VERBS = {"monitor": MonitorOptions, "sample": SampleOptions}
# What a verb has beside the options, and a command.
OWN = {"monitor": {"estimator", "logs", "state"}, "sample": {"estimator", "logs"}}
OWN_OF_COMMAND = {
    "monitor": {"logs", "state", "json", *OUTPUTS},
    "sample": {"files", "output", "to_judge", "html", "langfuse_queue", "json"},
}
# The command shows responses where it writes a page.
OTHER_DEFAULTS = {"monitor": {"responses": 5}, "sample": {}}

# The class that checks a verb's options, its typed dict, and those that the verb takes as arguments of its own.
KEYWORDS = [
    (ReadOptions, keywords.ReadKeywords, set[str]()),
    (Limits, keywords.FitKeywords, set[str]()),
    (EstimateOptions, keywords.EstimateKeywords, {"by"}),
    (MonitorOptions, keywords.MonitorKeywords, {"by"}),
    (SampleOptions, keywords.SampleKeywords, {"by", "budget"}),
    (JudgeOptions, keywords.JudgeKeywords, {"model"}),
]


def parameters(name: str) -> dict[str, Any]:
    """Those of a command, as Typer has them."""
    result = typer.main.get_command(app).commands[name].params
    return {one.name: one for one in result if one.name != "help"}


def accepted(schema: dict[str, Any]) -> set[str]:
    """The kinds of values of a JSON schema, without bounds and words; a path is a text."""
    kinds = schema.get("anyOf", [schema])
    parts = [
        {key: kind[key] for key in ("type", "enum", "items", "additionalProperties") if key in kind} for kind in kinds
    ]
    return {json.dumps(part, sort_keys=True) for part in parts}


@pytest.mark.parametrize(("options", "keywords", "own"), KEYWORDS)
def test_editors_see_the_options_that_are_checked(options: type[Options], keywords: type, own: set[str]) -> None:
    known = get_type_hints(keywords)
    fields = options.model_json_schema()["properties"]
    assert {*known} == {*fields} - own
    for name, kind in known.items():
        if kind is not Any:  # a file or a frame
            # Extensions add values to `alert_on`, so its type is not closed.
            field = {"type": "array", "items": {"type": "string"}} if name == "alert_on" else fields[name]
            assert accepted(TypeAdapter(kind).json_schema()) == accepted(field), name


@pytest.mark.parametrize("verb", ["open_logs", "read_logs", "read_features", "fit", "judge", "estimate", "compare"])
def test_an_unknown_option_is_named(verb: str) -> None:
    function = getattr(es, verb)
    own = inspect.signature(function).parameters.values()
    required = [None for parameter in own if parameter.default is parameter.empty]
    with pytest.raises(TypeError, match=rf"^{verb}\(\) got an unexpected keyword argument 'windw'$"):
        function(*required, windw="day")


@pytest.mark.parametrize("name", VERBS)
def test_the_verb_has_every_option(name: str) -> None:
    """tests/workflow/test_adding.py adds an option, and a place where alerts go."""
    result = inspect.signature(getattr(es, name)).parameters
    assert {*result} == {*OWN[name], *VERBS[name].model_fields}
    for option, field in VERBS[name].model_fields.items():
        assert result[option].default == field.default, option
    # As a notebook completes them: those that are given without a name come first.
    assert list(result)[:3] == ["estimator", "logs", "by"]
    assert all(one.kind is not one.VAR_KEYWORD for one in result.values())


@pytest.mark.parametrize("name", VERBS)
def test_the_command_has_every_option(name: str) -> None:
    result = parameters(name)
    assert {*result} == {*OWN_OF_COMMAND[name], *VERBS[name].model_fields}
    for option, field in VERBS[name].model_fields.items():
        if option == "budget":
            assert result[option].required
        else:
            default = OTHER_DEFAULTS[name].get(option, field.default)
            assert (result[option].default or None) == (default or None), option
        assert str(field.description).rstrip(".") in result[option].help
        assert f"--{option.replace('_', '-')}" in result[option].opts


def test_the_docstring_has_every_option_with_its_bounds() -> None:
    entries = re.sub(r"\n {9,}", " ", monitor.__doc__)  # each on one line
    for option in MonitorOptions.model_fields.keys() - {"by"}:  # which has words of its own there
        description = MonitorOptions.model_fields[option].description.rstrip(".")
        named = re.sub(r"--([a-z-]+)", lambda found: found[1].replace("-", "_"), description)  # arguments, not options
        assert f"    {option}: {named}" in entries
    assert re.search(r"    min_responses: [^\n]* \(1 or more\)\.\n", entries)
    assert MonitorOptions.model_json_schema()["properties"]["min_responses"]["minimum"] == 1


WRONG = [
    ("window", "year", "unknown 'year'; known: hour, day, week, month"),
    (
        "alert_on",
        "fire",
        "unknown 'fire'; known: drop, unfamiliar, contradicted, support, truncated, stale, ambiguous, unwatched",
    ),
    ("level", "1", "must be above 0 and below 1, got '1'"),
    ("level", "nan", "must be a number, got 'nan'"),
    ("fail_below", "80", "must be above 0 and at most 1, got '80'"),
    ("min_responses", "0", "must be 1 or more, got '0'"),
    ("min_responses", "1.5", "must be a whole number, got '1.5'"),
    ("responses", "9" * 30, f"must be 0 or more and at most 10,000, got '{'9' * 30}'"),
    ("pool_windows", "0", "must be 1 or more and at most 10,000, got '0'"),
    ("min_drop", "-5", "must be 0 or more and at most 1, got '-5'"),
]


@pytest.mark.parametrize(("option", "value", "words"), WRONG)
def test_a_wrong_value_is_refused_in_the_same_words(option: str, value: str, words: str) -> None:
    given = [value] if option == "alert_on" else value
    file = {"estimator": "e", "folder": "f", "logs": __file__, "options": {option: given}}
    with pytest.raises(ConfigError) as error:
        es.monitor("none", "none", **{option: given})
    assert str(error.value) == f"{option}: {words}"
    with pytest.raises(ConfigError) as error:
        Partitions(file)
    assert str(error.value) == f"options.{option}: {words}"
    name = f"--{option.replace('_', '-')}"
    done = CliRunner().invoke(app, ["monitor", "none", "none", name, value], env={"COLUMNS": "300"})
    assert done.exit_code == 2
    assert f"Invalid value for '{name}'" in done.output
    assert words in done.output


def test_an_option_that_is_unknown_or_does_not_go_with_others() -> None:
    with pytest.raises(ConfigError, match="alert_on: .*reference="):
        es.monitor("none", "none", alert_on=["drop"])
    with pytest.raises(ConfigError, match=r"^level: must be .*, got 2\nmax_slices: must be .*, got 0$"):
        es.monitor("none", "none", level=2, max_slices=0)  # all that is wrong at once
    with pytest.raises(ConfigError, match="unknown key 'windows'; known keys: by, window, "):
        MonitorOptions.from_values({"windows": "day"})
    with pytest.raises(TypeError, match="windows"):
        es.monitor("none", "none", windows="day")


@pytest.mark.parametrize(
    ("output", "function"), [("metrics", "result_files.write_metrics"), ("page", "monitor_page.write_page")]
)
def test_a_target_that_fails_hides_neither_findings_nor_alert(
    output: str, function: str, tmp_path: Path, monkeypatch
) -> None:
    refused = Mock(side_effect=ConnectionRefusedError("nobody is there"))
    monkeypatch.setattr(f"entropy_sentinel.monitor.showing.{function}", refused)
    log, estimator = written(traffic(), tmp_path / "log.parquet"), saved(tmp_path, "group-accuracy")
    alerts = tmp_path / "alerts.json"
    call = ["monitor", str(estimator), str(log), f"--{output}", str(tmp_path / "x"), "--alerts", str(alerts)]
    for more, status in ((["--fail-below", "1"], 4), ([], 1)):
        done = CliRunner().invoke(app, [*call, *more])
        assert done.exit_code == status
        assert "ConnectionRefusedError: nobody is there" in done.stderr.splitlines()
        assert "all responses" in done.stdout
        assert alerts.is_file()
        alerts.unlink()


def test_a_slice_may_have_the_name_of_a_column_of_the_estimates(tmp_path: Path) -> None:
    features = traffic().with_columns(error=1)
    labels = features.select("item_id", label=pl.int_range(pl.len()) % 4 > 0).head(8)
    result = es.estimate(saved(tmp_path, "group-accuracy"), features, by=["error"], labels=labels)
    assert result.select("slice_error", "n_labelled", "true_accuracy").rows() == [("1", 8, 0.75)]
    assert result["error"][0] == pytest.approx(result["estimated_accuracy"][0] - 0.75)
