"""The passes of families that ask a model again about its responses: who is asked, and what that depends on."""

from typing import Any

from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.study.generations import generation_settings
from entropy_sentinel.engines.settings import ApiModel, Model
from entropy_sentinel.signals.catalogue import FAMILIES


def asked_model(config: Config, model: str) -> str:
    """The model that is asked again about the responses of `model`: itself, or the one that it names."""
    return config.models[model].same_as or model


def pass_settings(config: Config, family: str, model: str, benchmark: str) -> dict[str, Any]:
    """What a pass of a family depends on, the traces and the items aside."""
    declared = FAMILIES[family].asks
    assert declared is not None  # only such families have a pass
    asked, why = asked_model(config, model), config.unaskable(model)
    return {
        "family": family,
        "version": declared.version,
        "asked_with": {**generation_settings(config, asked, benchmark), **_told(config.models[asked])},
        "settings": family_settings(config, family),
        **({"unaskable": why} if why else {}),
    }


def _told(model: Model) -> dict[str, Any]:
    """What no server tells of its model, and the config must; vLLM does. What is not set asks nothing again."""
    if not isinstance(model, ApiModel):
        return {}
    ends = {} if model.end_tokens is None else {"end_tokens": model.end_tokens}
    return {"vocabulary": model.vocabulary, **ends}


def family_settings(config: Config, family: str) -> dict[str, Any]:
    """A family's section of the config; empty for one without."""
    section = getattr(config.signals, family, None)
    return {} if section is None else section.model_dump()
