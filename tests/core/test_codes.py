"""Stable codes: a member compares as its number and keeps its words."""

import json
from enum import unique

import polars as pl

from entropy_sentinel.core.code_base import ExtensionCode, StableCode


@unique
class Colour(StableCode):
    RED = "ES901", "red", "is red", "It is red.", "Paint it."
    BLUE = "ES902", "dark-blue", "is dark blue", "It is blue."


def test_a_member_is_its_number_in_frames_and_json() -> None:
    assert Colour.RED == "ES901"
    assert json.dumps({"code": Colour.RED}) == '{"code": "ES901"}'
    assert pl.Series([["ES901"], ["ES902"]]).list.contains(Colour.BLUE).to_list() == [False, True]
    assert Colour("ES902") is Colour.BLUE


def test_a_member_has_its_slug_words_meaning_and_remedy() -> None:
    blue = Colour.find_slug("dark-blue")
    assert blue is Colour.BLUE
    assert Colour.find_slug("green") is None
    assert (blue.words, blue.meaning, blue.remedy) == ("is dark blue", "It is blue.", "")
    assert (Colour.RED.remedy, type(Colour.RED.number)) == ("Paint it.", str)


def test_an_extension_has_its_slug_as_its_code() -> None:
    refused = ExtensionCode("often-refused", "often refused", "Many responses are refusals.")
    assert (refused, refused.number, refused.slug) == ("often-refused",) * 3
    assert (refused.words, refused.remedy) == ("often refused", "")
