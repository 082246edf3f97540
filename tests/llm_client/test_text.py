"""What may be written of what a server says."""

from pathlib import Path

import pytest

from entropy_sentinel.llm_client.request_results import extract_message, format_error, make_storable, mask_secrets

KEY = "0a1b2c3d4e5f6a7b8c9d"


@pytest.fixture(autouse=True)
def a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", KEY)
    monkeypatch.setenv("OTHER_TOKEN", "1000000")
    monkeypatch.setenv("MAX_TOKENS", "4")


def test_half_a_surrogate_pair_is_replaced_wherever_it_stands() -> None:
    assert make_storable({"a\udfff": ["\ud83d", "\ud83d\ude00", 1, None, True]}) == {
        "a\ufffd": ["\ufffd", "\ufffd\ufffd", 1, None, True]
    }
    assert make_storable("\U0001f600") == "\U0001f600"
    make_storable(["\ud800"])[0].encode()


def test_answers_lose_keys_and_no_numbers() -> None:
    assert make_storable(f"{KEY} and 1000000, bearer of sk-is") == "*** and 1000000, bearer of sk-is"
    assert mask_secrets(f"{KEY} and 1000000, Bearer abc") == "*** and ***, Bearer ***"


def test_a_key_that_another_begins_with_leaves_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT_TOKEN", KEY[:8])
    assert mask_secrets(KEY) == "***"


def test_paths_are_not_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PWD is a folder and no password."""
    monkeypatch.setenv("PWD", str(tmp_path))
    monkeypatch.setenv("DB_PWD", "correct horse")
    assert mask_secrets(f"{tmp_path}/config.yaml: correct horse, {KEY}") == f"{tmp_path}/config.yaml: ***, ***"


def test_keys_of_providers_are_masked_wherever_they_come_from() -> None:
    assert mask_secrets("x hf_abcdefghijklmnopqrstuvwxyz, gsk_0a1b2c3d4e5f") == "x ***, ***"


def test_errors_are_the_servers_own_words() -> None:
    outer = 'litellm.NotFoundError: NotFoundError: Hosted_vllmException - {"error": {"message": "no\\n model"}}'
    assert extract_message(ValueError(outer)) == "no model"
    assert extract_message(ValueError('{"error": "not here"}')) == "not here"
    assert extract_message(ValueError("Error: as it is - {half")) == "as it is - {half"
    assert extract_message(ValueError("17")) == "17"
    assert format_error(ConnectionRefusedError(111, "refused")) == "no connection: Connection refused"


def test_secrets_of_any_provider_are_masked_before_words_are_cut_off() -> None:
    told = format_error(ValueError(f"4 tries\nwith {KEY} and Bearer xyz"))
    assert told == "ValueError: 4 tries with *** and Bearer ***"
    assert "8c9d" not in format_error(ValueError("x" * 290 + KEY))
