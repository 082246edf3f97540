"""Whether a model can be asked again about its responses by token ids, as far as the config tells."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from entropy_sentinel.engines.settings import ApiModel, Model, SourceModel
from entropy_sentinel.signals.catalogue import FAMILIES


@dataclass(frozen=True)
class Unaskable:
    """Why nothing can be asked about the responses of a model, and what to do about it."""

    why: str
    remedy: str


def unaskable(models: Mapping[str, Model], name: str, family: str, plain: Collection[str]) -> Unaskable | None:
    """Why a family can ask nothing about the responses of `name`; None where it can, or has what it said in a file.

    `plain` are the models whose responses go on from plain text, without a chat template.
    """
    model, asked = models[name], models[name].same_as or name
    if model.given_passes(family):
        return None
    if any(isinstance(models[one], ApiModel) and one not in plain for one in (name, asked)):
        how = "run it by 'id' or 'path', ask it with a prompt of plain text, or leave the family out"
        return Unaskable("a server gives no token ids of a chat's prompt", how)
    if isinstance(models[asked], SourceModel):
        how = (
            f"name a model with its weights in models.{name}.same_as, or a folder with {family}/ in "
            f"models.{name}.source_passes, or leave the family out"
        )
        return Unaskable("traces made elsewhere ('source') have no engine", how)
    if key := models[asked].no_logprobs:
        why = f"it gives no log-probabilities (models.{asked}.{key})"
        return Unaskable(why, "leave the family or the model out")
    return None


def check_asking(models: Mapping[str, Model], run: Iterable[str], family: str, plain: Collection[str]) -> None:
    """Refuse a family, by a ValueError, that can ask about none of the models that are `run`.

    Of several, one that cannot be asked about has null signals, with the reason. What the config must still say of a
    server is refused always.
    """
    found = {name: unaskable(models, name, family, plain) for name in run}
    reasons = {name: f"{one.why}; {one.remedy}" for name, one in found.items() if one}
    if len(reasons) < len(found):
        asked = [name for name in found if name not in reasons and not models[name].given_passes(family)]
        reasons = {name: why for name in asked if (why := _unset(models, models[name].same_as or name, family))}
    for name, why in reasons.items():
        raise ValueError(
            f"models.{name}: run.features has '{family}', for which the model is asked again about its responses by "
            f"token ids, and {why}"
        )


def _unset(models: Mapping[str, Model], asked: str, family: str) -> str | None:
    """What the config must still say of a model so that it can be asked; None for nothing."""
    declared = FAMILIES[family].asks
    for key in declared.told_of_servers if declared else ():
        if isinstance(models[asked], ApiModel) and getattr(models[asked], key) is None:
            return f"models.{asked}.{key} is not known, which a server does not tell; set it"
    return None
