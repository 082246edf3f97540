"""Values of options that are refused: bytes of a command line that are not UTF-8, unknown choices, bounds."""

from typing import Any, Literal

import pytest
from pydantic import Field

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.option_classes import Options
from entropy_sentinel.logs.log_options import ReadOptions


@pytest.mark.parametrize(
    "given",
    [
        {"where": {"route\udcff": "a"}},
        {"where": {"route": ["a", "\udcff"]}},
        {"where": ["route=\udcff"]},
        {"column": {"route": "\udcff"}},
        {"columns": ["\udcff"]},
        {"model": "\udcff"},
    ],
)
def test_text_must_be_utf8(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(ConfigError, match=rf"^{name}: must be text in UTF-8, got '.*\\udcff'"):
        ReadOptions.from_values(given)
    if name in ("where", "column"):
        with pytest.raises(ConfigError, match=rf"^{name}: must be text in UTF-8"):
            ReadOptions.parse_value(name, "route=\udcff")
    assert ReadOptions.from_values({"where": {"röute": "ä"}}).where == ("röute=ä",)


class Colours(Options):
    colour: Literal["red", "blue"] = "red"
    many: int = Field(1, ge=1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"colour": "green"}, "colour: unknown 'green'; known: red, blue"),
        ({"many": 0}, "many: must be 1 or more, got 0"),
        ({"many": "some"}, "many: must be a whole number, got 'some'"),
    ],
)
def test_messages_say_what_a_value_must_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        Colours.from_values(given)
    assert str(error.value) == message
