"""The passes of families that ask a model again about its responses: who is asked, and what that depends on."""

from typing import Any

from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.study.generations import generation_settings
from entropy_sentinel.engines.settings import ApiModel
from entropy_sentinel.signals.catalogue import FAMILIES


def asked_model(config: Config, model: str) -> str:
    """The model that is asked again about the responses of `model`: itself, or the one that it names."""
    return config.models[model].same_as or model


def pass_settings(config: Config, family: str, model: str, benchmark: str) -> dict[str, Any]:
    """What a pass of a family depends on, the traces and the items aside."""
    declared = FAMILIES[family].asks
    assert declared is not None  # only such families have a pass
    asked = asked_model(config, model)
    # No server tells its size; vLLM does.
    known = {"vocabulary": config.models[asked].vocabulary} if isinstance(config.models[asked], ApiModel) else {}
    return {
        "family": family,
        "version": declared.version,
        "asked_with": {**generation_settings(config, asked, benchmark), **known},
        "settings": family_settings(config, family),
    }


def family_settings(config: Config, family: str) -> dict[str, Any]:
    """A family's section of the config; empty for one without."""
    section = getattr(config.signals, family, None)
    return {} if section is None else section.model_dump()
