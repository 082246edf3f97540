"""config.yaml as a manual: beside each key stands its description, the one that editors and the site show, too."""

import pytest
import yaml

from made import config_comments, config_keys

TEXT = config_comments.FILE.read_text()


def test_every_comment_is_the_description_of_its_key() -> None:
    assert config_comments.rewritten(TEXT) == TEXT, "run: PYTHONPATH=docs:workflow python -m made.config_comments"


def test_no_key_is_missing() -> None:
    assert config_comments.missing(TEXT) == []


def test_every_key_has_a_description() -> None:
    definitions = config_comments.Config.model_json_schema()["$defs"]
    bare = [name for name, key in config_keys.keys().items() if not config_keys.meaning(key, definitions)]
    assert bare == []
    assert len(config_keys.keys()) > 100


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# Nucleus sampling; 1 keeps all tokens.", "# Nucleus sampling."),
        ("    # Nucleus sampling; 1 keeps all tokens.\n", ""),
        ("#   lora: (id, path) folder", "#   lora: the folder"),
        ("    # Texts that end a response.\n", ""),
    ],
)
def test_an_outdated_comment_is_rewritten(old: str, new: str) -> None:
    assert TEXT.count(old) == 1
    assert config_comments.rewritten(TEXT.replace(old, new)) == TEXT


def test_a_missing_key_is_named() -> None:
    assert config_comments.missing(TEXT.replace("    # stop: null\n", "").replace("  threads: 4\n", "")) == [
        "generation.sampling.stop",
        "generation.threads",
    ]


def test_writing_changes_no_setting() -> None:
    without = "\n".join(line for line in TEXT.splitlines() if not line.lstrip().startswith("#"))
    assert yaml.safe_load(config_comments.rewritten(without)) == yaml.safe_load(TEXT)
