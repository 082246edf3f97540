"""What a rule names and what the function of its job takes: differences are found before a job runs."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from entropy_sentinel.core import extensions
from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.jobs.job_calls import check_rule


class Named(dict[str, Any]):
    """Items with names, as Snakemake's rules have them."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())


class Unpacked(str):
    flags = {"unpack": True}


def rule(inputs: dict[str, Any], outputs: str = "page", params: str = "") -> Any:
    return SimpleNamespace(
        name="lengths",
        snakefile="mine/rules.smk",
        input=Named(inputs),
        output=Named(dict.fromkeys(outputs.split(), "file")),
        params=Named(dict.fromkeys(["call", "code_frames", "declared", *params.split()])),
        wildcard_names={"model"},
    )


INPUTS = {"labels": "a", "features": "b"}


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Write a module with a function of these parameters, and return the function's name."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(extensions, "find_root", lambda module: "lengths_of")

    def write(parameters: str, before: str = "") -> str:
        name = f"lengths_of_{len(list(tmp_path.iterdir()))}"
        (tmp_path / f"{name}.py").write_text(f"import nothing_there\n\n{before}def write({parameters}):\n    pass\n")
        return f"{name}.write"

    yield write
    assert "nothing_there" not in sys.modules


@pytest.mark.parametrize(
    ("parameters", "checked"),
    [
        ("labels, features, long, page", rule(INPUTS, params="long")),
        ("labels, *, features, long=3, page, model", rule(INPUTS)),
        ("files, page", rule(INPUTS)),
        ("page, **inputs", rule(INPUTS)),
        ("files, output, threads", rule(INPUTS)),
        ("files, page_output, page", rule(INPUTS | {"page": "c"})),
        ("files, folder", rule(INPUTS, "page table")),
    ],
)
def test_what_fits_is_accepted(written: Any, parameters: str, checked: Any) -> None:
    check_rule(checked, written(parameters))


def test_inputs_that_each_job_names_are_not_missed(written: Any) -> None:
    check_rule(rule(INPUTS | {"further": Unpacked("files")}), written("files, anything, page"))


def test_parameters_that_a_decorator_may_change_are_not_checked(written: Any) -> None:
    check_rule(rule(INPUTS), written("anything", before="@nothing_there.change\n"))


@pytest.mark.parametrize(
    ("parameters", "checked", "facts"),
    [
        (
            "labels, features, long, page",
            rule(INPUTS, params="lonh"),
            ["no input, output, parameter or wildcard 'long'", "the function has no parameter 'lonh'"],
        ),
        ("labels, features, page, *, long", rule(INPUTS), ["no input, output, parameter or wildcard 'long'"]),
        ("features, page, long=3", rule(INPUTS), ["the function has no parameter 'labels'"]),
        ("files, long=3, page=None", rule(INPUTS, "pages"), ["the function has no parameter 'pages'"]),
        ("page, long=3, **inputs", rule(INPUTS, params="lonh"), ["the function has no parameter 'lonh'"]),
        ("files, page_output", rule(INPUTS, "table"), ["wildcard 'page_output'", "no parameter 'table'"]),
    ],
)
def test_a_name_that_does_not_fit_is_told_with_rule_and_function(
    written: Any, parameters: str, checked: Any, facts: list[str]
) -> None:
    function = written(parameters)
    with pytest.raises(ConfigError) as refused:
        check_rule(checked, function)
    message = str(refused.value)
    assert message.startswith(f"rule 'lengths' (mine/rules.smk): its job cannot call {function}(")
    for fact in facts:
        assert fact in message
    assert message.count("no parameter") + message.count("no input") == len(facts)
