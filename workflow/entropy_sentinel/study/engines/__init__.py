"""Engines, which answer questions: vLLM in this process, or a server behind an API.

One engine serves all jobs of a run that need its model (`pool`), in a process of its own.
Within `study`, may be imported by: `semantic_clustering` and every room above.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from entropy_sentinel.llm_client.server_settings import Prompt
    from entropy_sentinel.study.engines.model_base import Model


def models() -> "dict[str, type[Model]]":
    """The kinds of models by the key that identifies a model in the config: `id`, `path`, `api` or `source`."""
    from entropy_sentinel.study.engines.model_kinds import ApiModel, HubModel, LocalModel, SourceModel

    return {"id": HubModel, "path": LocalModel, "api": ApiModel, "source": SourceModel}


def prompts() -> "dict[str, Prompt]":
    """The prompts of models."""
    from entropy_sentinel.study.engines.model_prompts import PROMPTS

    return PROMPTS
