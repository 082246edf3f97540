"""Options whose text is no text: bytes of a command line that are not UTF-8."""

from typing import Any

import pytest

from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.sources.logs.settings import ReadOptions


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
    with pytest.raises(ConfigError, match=rf"^{name}: must be text in UTF-8, was '.*\\udcff'"):
        ReadOptions.of(given)
    if name in ("where", "column"):
        with pytest.raises(ConfigError, match=rf"^{name}: must be text in UTF-8"):
            ReadOptions.value(name, "route=\udcff")
    assert ReadOptions.of({"where": {"röute": "ä"}}).where == ("röute=ä",)
