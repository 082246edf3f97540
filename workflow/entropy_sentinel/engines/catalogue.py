"""The kinds of models by name, their engines, and the prompts, as the package and its extensions declare them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Discriminator, Tag

from entropy_sentinel.chat.settings import Prompt
from entropy_sentinel.engines.generation import AskedSettings
from entropy_sentinel.engines.model import Model
from entropy_sentinel.frames import extensions

if TYPE_CHECKING:
    from entropy_sentinel.engines.engine import Engine

# The kinds by the key that identifies a model of this kind.
KINDS: dict[str, type[Model]] = extensions.declared("models")
PROMPTS: dict[str, Prompt] = extensions.declared("prompts")
_ENGINES: dict[str, "Callable[[], Callable[[Any, int], Engine]]"] = {
    kind.ENGINE: kind.load for kind in KINDS.values() if kind.ENGINE
}


def make_engine(settings: AskedSettings, threads: int) -> "Engine":
    """Return the engine that the settings name, on `threads` CPU cores."""
    return _ENGINES[settings["engine"]]()(settings, threads)


def _which(model: Any) -> Any:
    """Return a model without null keys, with which a second config file removes keys of the first; check its kind."""
    if not isinstance(model, Mapping):
        return model
    given = {key: value for key, value in model.items() if value is not None}
    if sum(kind in given for kind in KINDS) != 1:
        keys = ", ".join(f"'{kind}'" for kind in KINDS)
        raise ValueError(f"needs exactly one of {keys}; null unsets one that another file sets")
    return given


def _kind(model: Any) -> str | None:
    """Return Pydantic's tag, in brackets because it is not a key of the config and errors omit it."""
    if isinstance(model, Model):
        return f"[{model.kind}]"
    return next((f"[{kind}]" for kind in KINDS if kind in model), None) if isinstance(model, Mapping) else None


if TYPE_CHECKING:
    AnyModel = Model
else:
    _KIND = Union[tuple(Annotated[kind, Tag(f"[{name}]")] for name, kind in KINDS.items())]  # noqa: UP007
    AnyModel = Annotated[
        _KIND,
        Discriminator(_kind, custom_error_type="section", custom_error_message="must be a section with keys"),
        BeforeValidator(_which),
    ]
