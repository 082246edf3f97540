"""The passes of families that ask a model again about its responses: who is asked, and what that depends on."""

from typing import Any

from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.study.generations import generation_settings, gpus
from entropy_sentinel.engines.settings import ApiModel, Model
from entropy_sentinel.signals.catalogue import FAMILIES


def given_pass(config: Config, family: str, model: str, benchmark: str) -> str | None:
    """The file of what a family's pass said elsewhere, which stands in for an engine; None where there is none."""
    folder = config.models[model].given_passes(family)
    return str(folder / f"{benchmark}.parquet") if folder else None


def pass_gpus(config: Config, family: str, model: str) -> int:
    """GPUs of one job: those of the model that is asked, and none where nothing is."""
    asked = config.asked_again(family, model)
    return gpus(config, asked) if asked else 0


def pass_settings(config: Config, family: str, model: str, benchmark: str) -> dict[str, Any]:
    """What a pass of a family depends on, the traces and the items aside."""
    declared = FAMILIES[family].asks
    assert declared is not None  # only such families have a pass
    if source := given_pass(config, family, model, benchmark):
        said_by: dict[str, Any] = {"source": source}
    else:
        asked = config.models[model].same_as or model
        said_by = {"asked_with": {**generation_settings(config, asked, benchmark), **_told(config.models[asked])}}
    why = config.unaskable(family, model)
    return {
        "family": family,
        "version": declared.version,
        **said_by,
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
