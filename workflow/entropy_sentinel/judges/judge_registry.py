"""The kinds of judges by name, and the prompts of the LLM judges, as the package and its extensions declare them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args

from pydantic import BeforeValidator, Discriminator, Tag

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.extension_guard import guard_extension
from entropy_sentinel.core.registry_entries import describe_place, load_classes, load_values
from entropy_sentinel.core.section_base import Settings, check_names
from entropy_sentinel.judges.judge_base import JudgeSettings, Kind
from entropy_sentinel.judges.judge_interface import Judge
from entropy_sentinel.llm_client.server_settings import Prompt


def _load_kinds() -> dict[str, type[Kind]]:
    """The classes of judges by name; raises ConfigError for one whose key `kind` does not have that name."""
    kinds = load_classes("judges", Kind)
    for name, kind in kinds.items():
        key = kind.model_fields.get("kind")
        if key is None or get_args(key.annotation) != (name,):
            raise ConfigError(f'{describe_place("judges", name)} must have the key `kind: Literal["{name}"]`')
    return kinds


KINDS: dict[str, type[Kind]] = _load_kinds()
PROMPTS: dict[str, Prompt] = load_values("judge_prompts", Prompt)


def _drop_null_keys(judge: Any) -> Any:
    """Remove null keys: a second config file uses null to unset a key of the first."""
    if not isinstance(judge, Mapping):
        return judge
    return {key: value for key, value in judge.items() if value is not None}


def _tag_kind(judge: Any) -> str | None:
    """The tag by which Pydantic chooses the class of a judge's section, a mapping or an object."""
    kind = judge.get("kind") if isinstance(judge, Mapping) else getattr(judge, "kind", None)
    return f"[{kind}]"


if TYPE_CHECKING:
    AnyJudge = Kind
else:
    # Tags are in brackets because they are not keys of the config; errors omit them.
    _KIND = Union[tuple(Annotated[kind, Tag(f"[{name}]")] for name, kind in KINDS.items())]  # noqa: UP007
    AnyJudge = Annotated[
        _KIND,
        Discriminator(
            _tag_kind,
            custom_error_type="kind",
            custom_error_message=f"must be a section with 'kind': {' or '.join(KINDS)}",
        ),
        BeforeValidator(_drop_null_keys),
    ]


def list_members(judge: Settings) -> list[str]:
    """The names of the judges that a judge combines; empty for a basic judge."""
    return list(getattr(judge, "judges", []))


def list_basic_judges(name: str, judges: Mapping[str, Settings]) -> list[str]:
    """The basic judges behind the judge `name`: itself, or those that it combines, at any depth.

    Raises ValueError for a name that is not in `judges`, and for a judge that contains itself.
    """
    return list(dict.fromkeys(_walk_basic_judges([name], judges)))


def _walk_basic_judges(way: list[str], judges: Mapping[str, Settings]) -> list[str]:
    """The basic judges behind the last name of `way`, which has the names from the first judge down to it."""
    *above, name = way
    if name in above:
        raise ValueError(f"judges.{way[0]}.judges: a judge must not be part of itself, got {' -> '.join(way)}")
    check_names(f"judge in judges.{above[-1] if above else name}.judges:", [name], judges)
    basic: list[str] = []
    for part in list_members(judges[name]):
        basic += _walk_basic_judges([*way, part], judges)
    return basic or [name]


def make_judge(settings: JudgeSettings) -> Judge:
    """The judge that the settings name; the config has checked its kind."""
    kind = settings["kind"]
    with guard_extension("judges", kind, f"judge '{kind}' cannot be made"):
        return KINDS[kind].load()(settings)
