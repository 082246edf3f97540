"""The table of deviations of docs/paper.md: what its last column says to set can be set."""

import json
import re

import pytest
import yaml
from jsonschema import validate

from entropy_sentinel.core.cache_folders import TREE
from entropy_sentinel.core.section_base import merge_sections
from entropy_sentinel.study.config.config_loading import load_config, read_config

PAGE = (TREE / "docs/paper.md").read_text()
SCHEMA = json.loads((TREE / "workflow/schemas/config.schema.json").read_text())
TABLE = PAGE.partition("## Where it differs from the paper\n")[2].partition("\n## ")[0]
ROWS = [line.strip("| ").split(" | ") for line in TABLE.splitlines() if line.startswith("| ")][1:]
SETTINGS = {row[0]: setting for row in ROWS for setting in re.findall(r"`([a-z]+: \{.*?\})`", row[-1])}


def test_rows_have_five_cells_each() -> None:
    assert len(ROWS) > 25
    assert {len(row) for row in ROWS} == {5}
    assert {row[-1] == "-" or row[0] in SETTINGS for row in ROWS} == {True}


@pytest.mark.parametrize("what", SETTINGS)
def test_a_setting_of_the_table_is_known_accepted_and_changes_the_study(what: str) -> None:
    setting = yaml.safe_load(SETTINGS[what])
    paper = read_config([TREE / "config.yaml"])
    validate(json.loads(json.dumps(setting, default=str)), SCHEMA)  # YAML has dates, JSON has not
    result = load_config(merge_sections(paper, setting), user_config=setting)
    assert result.left_out == []
    if what != "Labels":  # the paper's judge may be the default
        assert result != load_config(paper)
