"""Families of signals that an extension declares and that cannot be."""

from pathlib import Path

import pytest
from extended import extension, ran

INIT = """
def signals():
    from entropy_sentinel.schemas.signal_schema import Family, Signal

    def of(name):
        return Family("made up", (Signal(name, "Made up", "made up", "1"),), compute=lambda traces: traces)

    return {families}
"""


@pytest.mark.parametrize(
    ("families", "facts"),
    [
        ('{"first": of("short"), "twice": of("short")}', ("signal 'short'", "the family 'first'")),
        ('{"badly": of("a/b")}', ("`a_name`", "'a/b'")),
        ('{"tokenwise": of("max")}', ("signal 'max'", "the family 'tokens'")),
    ],
)
def test_a_family_that_cannot_be_is_refused_with_its_module(
    families: str, facts: tuple[str, ...], tmp_path: Path
) -> None:
    """Its signal is another family's or a feature, or has no name of a column."""
    mine = extension(tmp_path / "mine_wrong", INIT.replace("{families}", families))
    error = ran(tmp_path, "import entropy_sentinel.signal_families.signal_registry", mine).stderr.splitlines()[-1]
    assert error.startswith("entropy_sentinel.core.errors.ConfigError: ")
    for fact in ("mine_wrong", *facts):
        assert fact in error
