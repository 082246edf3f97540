"""The families of signals that compare texts by a model: what they depend on, the traces and the items aside."""

from typing import Any

from entropy_sentinel.config.layout import Layout
from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.weights import folder_fingerprint
from entropy_sentinel.grouping.settings import TextModel


def comparing_families(config: Config) -> dict[str, TextModel]:
    """The sections of the families of the study that compare texts, by name."""
    sections = {name: getattr(config.signals, name, None) for name in config.run.further_families}
    return {name: section for name, section in sections.items() if isinstance(section, TextModel)}


def comparing_settings(config: Config, family: str) -> dict[str, Any]:
    """A family's section, with the weights that are meant: those of a folder by their content."""
    section = comparing_families(config)[family]
    settings = {
        **section.model_dump(),
        "model": section.weights,
        "revisions": f"{Layout(config.study).results}/revisions",
    }
    return settings | ({"revision": folder_fingerprint(section.path)} if section.path else {})
