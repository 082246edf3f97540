"""Whether a model can be asked again about its responses by token ids, as far as the config tells."""

from collections.abc import Mapping

from entropy_sentinel.engines.settings import ApiModel, Model, SourceModel


def unaskable(models: Mapping[str, Model], name: str, asked: str, plain: bool) -> str | None:
    """Why the model `asked` cannot be asked about the responses of `name`; None where it can.

    `plain` says whether they go on from plain text, without a chat template.
    """
    if isinstance(models[name], ApiModel) and not plain:
        return (
            "a server gives none of a chat's prompt; run it by 'id' or 'path', ask it with a prompt of plain text, or "
            "leave the family out"
        )
    if isinstance(models[asked], SourceModel):
        return (
            f"models.{asked} has no engine ('source'); name a model with its weights in models.{name}.same_as, or "
            "leave the family out"
        )
    if key := models[asked].no_logprobs:
        return f"it gives no log-probabilities (models.{asked}.{key}); leave the family or the model out"
    if isinstance(models[asked], ApiModel) and models[asked].vocabulary is None:
        return f"the size of its vocabulary is not known, which a server does not tell; set models.{asked}.vocabulary"
    return None
