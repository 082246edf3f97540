"""Every output of a rule that a study uses is requested by another rule or is a target."""

from types import SimpleNamespace
from typing import Any

import pytest

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.jobs.output_requests import check_requests


def rule(name: str, inputs: list[Any], outputs: list[str]) -> SimpleNamespace:
    return SimpleNamespace(name=name, input=inputs, output=outputs, snakefile="mine/rules.smk")


def check(*rules: SimpleNamespace) -> None:
    check_requests(rules, "all", lambda pattern: pattern)


FIT = rule("fit", [], ["fits/{model}/own", "fits/{model}/added"])
OWN = ["fits/a/own", "fits/b/own"]
TRACES = {"a": ["fits/a/own", "fits/a/added"], "b": []}


@pytest.mark.parametrize(
    "rules",
    [
        [rule("all", [*OWN, "fits/a/added"], [])],
        [rule("all", ["pages/a"], []), rule("page", OWN + FIT.output, ["pages/{model}"])],
        # Of any name, and of several folders.
        [rule("all", ["pages/a/own", "pages/a/added"], []), rule("page", ["fits/{m}/{name}"], ["pages/{m}/{name}"])],
        # What a function returns for the files that are requested, also where it cannot say it for others.
        [rule("all", ["pages/a", "pages/c"], []), rule("page", [lambda w: TRACES[w.model]], ["pages/{model}"])],
        [
            rule("all", ["book"], []),
            rule("page", [lambda w: [f"fits/{w.model}/{name}" for name in ("own", "added")]], ["pages/{model}"]),
            rule("book", [lambda w: "pages/a"], ["book"]),
        ],
        # Another target has all of them, and the first one none.
        [rule("all", [], []), rule("prefetch", [*OWN, "fits/a/added"], [])],
        # It is not used.
        [rule("all", ["other"], []), rule("page", OWN, ["pages/{model}"])],
    ],
    ids=["target", "input", "wildcards", "function", "functions", "another target", "unused"],
)
def test_outputs_that_are_requested(rules: list[SimpleNamespace]) -> None:
    check(*rules, FIT)


@pytest.mark.parametrize(
    "rules",
    [
        [rule("all", OWN, [])],
        [rule("all", OWN, []), rule("fits", [*OWN, "fits/a/added"], [])],
        # A rule asks for any name, and its files are requested for one name.
        [rule("all", ["pages/a/own"], []), rule("page", ["fits/{m}/{name}"], ["pages/{m}/{name}"])],
        # A rule asks for it that is itself not used.
        [rule("all", OWN, []), rule("page", [*FIT.output], ["pages/{model}"])],
        [rule("all", ["pages/b", *OWN], []), rule("page", [lambda w: TRACES[w.model]], ["pages/{model}"])],
    ],
    ids=["target", "another target", "wildcards", "unused", "function"],
)
def test_an_output_that_nobody_requests_is_refused(rules: list[SimpleNamespace]) -> None:
    with pytest.raises(ConfigError, match=r"rule 'fit' \(mine/rules.smk\): nothing requests its output .*/added, "):
        check(FIT, *rules)


def test_a_name_with_a_wildcard_and_text() -> None:
    check(rule("all", ["tables/table_1.csv"], []), rule("table", [], ["tables/table_{name}.csv"]))
    with pytest.raises(ConfigError, match="table_2.csv"):
        check(rule("all", ["tables/table_1.csv"], []), rule("table", [], ["tables/table_1.csv", "tables/table_2.csv"]))
