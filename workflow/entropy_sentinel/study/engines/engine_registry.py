"""The kinds of models by name, their engines, and the prompts, as the package and its extensions declare them."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union

from pydantic import BeforeValidator, Discriminator, Tag

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.core.registry_entries import describe_place, load_classes, load_values
from entropy_sentinel.llm_client.server_settings import Prompt
from entropy_sentinel.study.engines.generation_section import AskedSettings
from entropy_sentinel.study.engines.model_base import Model

if TYPE_CHECKING:
    from entropy_sentinel.study.engines.engine_interface import Engine

    # Makes an engine from the settings of its job and a number of CPU cores.
    EngineFactory = Callable[[Any, int], Engine]


def _load_kinds() -> dict[str, type[Model]]:
    """The classes of models by the key that identifies a model of this kind, such as `id` or `api`."""
    kinds = load_classes("models", Model)
    for name, kind in kinds.items():
        if getattr(kind, "kind", None) != name or name not in kind.model_fields:
            raise ConfigError(f'{describe_place("models", name)} must have the key `{name}`, and `kind = "{name}"`')
    return kinds


def _load_engines() -> dict[str, "Callable[[], EngineFactory]"]:
    """The functions that load the engines of all kinds of models, by the engine's name."""
    engines: dict[str, Callable[[], EngineFactory]] = {}
    for name, kind in KINDS.items():
        # Kinds may share an engine if they have the same function, of which each class has its own bound method.
        load = engines.setdefault(kind.ENGINE, kind.load)
        if load.__func__ is not kind.load.__func__:  # type: ignore[attr-defined]
            raise ConfigError(
                f"{describe_place('models', name)}: another kind has the engine '{kind.ENGINE}'; rename it"
            )
    return engines


# The kinds by the key that identifies a model of this kind.
KINDS: dict[str, type[Model]] = _load_kinds()
PROMPTS: dict[str, Prompt] = load_values("prompts", Prompt)
_ENGINES = _load_engines()


def make_engine(settings: AskedSettings, threads: int) -> "Engine":
    """The engine that the settings name, on `threads` CPU cores."""
    name = settings["engine"]
    with guard_extension(
        "models", find_engine_kind(name), f"models.{settings['model']}: engine '{name}' cannot be made"
    ):
        return _ENGINES[name]()(settings, threads)


def find_engine_kind(engine: str) -> str:
    """The first kind of model with an engine of this name."""
    return next(name for name, kind in KINDS.items() if engine == kind.ENGINE)


def _validate_kind(model: Any) -> Any:
    """A model without null keys, with which a second config file removes keys of the first; check its kind."""
    if not isinstance(model, Mapping):
        return model
    section = {key: value for key, value in model.items() if value is not None}
    if sum(kind in section for kind in KINDS) != 1:
        keys = ", ".join(f"'{kind}'" for kind in KINDS)
        raise ValueError(f"needs exactly one of {keys}; null unsets one that another file sets")
    return section


def _find_tag(model: Any) -> str | None:
    """Pydantic's tag of a model's kind, `[id]`; None if it has none.

    It is in brackets because it is not a key of the config, and errors omit it.
    """
    if isinstance(model, Model):
        return f"[{model.kind}]"
    if not isinstance(model, Mapping):
        return None
    return next((f"[{kind}]" for kind in KINDS if kind in model), None)


if TYPE_CHECKING:
    AnyModel = Model
else:
    _KIND = Union[tuple(Annotated[kind, Tag(f"[{name}]")] for name, kind in KINDS.items())]  # noqa: UP007
    AnyModel = Annotated[
        _KIND,
        Discriminator(_find_tag, custom_error_type="section", custom_error_message="must be a section with keys"),
        BeforeValidator(_validate_kind),
    ]
