"""The servers of models and judges: addresses and limits, on which no result depends, and what they have cost."""

from typing import Any

from entropy_sentinel.config.layout import Layout
from entropy_sentinel.config.sections import Config
from entropy_sentinel.engines.settings import ApiModel
from entropy_sentinel.judges.settings import Llm


def server_settings(config: Config) -> dict[str, dict[str, Any]]:
    """Addresses and limits of the servers of models and judges, by their keys in the config.

    No result depends on them.
    """
    models = {
        f"models.{name}.api": model.api.model_dump(exclude={"model", "logprobs"})
        | {"ledger": ledger(config, f"models.{name}")}
        for name, model in config.models.items()
        if isinstance(model, ApiModel)
    }
    judges = {
        f"judges.{name}": judge.model_dump(exclude={"kind", "served", *judge.ASKED})
        | {"ledger": ledger(config, f"judges.{name}")}
        for name, judge in config.judges.items()
        if isinstance(judge, Llm)
    }
    return models | judges


def ledger(config: Config, server: str) -> str:
    """The file of what the study's calls to a server have cost; `server` is `models.NAME` or `judges.NAME`."""
    return Layout(config.study).spending.format(server=server)
