"""Whether a model can be asked again about its responses by token ids, as far as the config tells."""

from collections.abc import Iterable, Mapping

from entropy_sentinel.engines.settings import ApiModel, Model, SourceModel
from entropy_sentinel.frames.signals import EnginePass


def unaskable(model: Model, plain: bool) -> str | None:
    """Why nothing can be asked about the responses of a model; None where it can.

    `plain` says whether they go on from plain text, without a chat template.
    """
    if isinstance(model, ApiModel) and not plain:
        return "a server gives no token ids of a chat's prompt"
    return None


def lacking(models: Mapping[str, Model], name: str, asked: str, passes: Iterable[EnginePass]) -> str | None:
    """What the config still must say so that `asked` can be asked about the responses of `name`; None for nothing."""
    model = models[asked]
    if isinstance(model, SourceModel):
        return (
            f"models.{asked} has no engine ('source'); name a model with its weights in models.{name}.same_as, or "
            "leave the family out"
        )
    for key in (key for one in passes for key in one.told_of_servers):
        if isinstance(model, ApiModel) and getattr(model, key) is None:
            return f"models.{asked}.{key} is not known, which a server does not tell; set it"
    return None
