"""The base of every section of the configuration, and the types that sections share."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

# Names become parts of file names and of group ids, where benchmarks are joined with "+".
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


def _distinct(names: list[str]) -> list[str]:
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"'{twice[0]}' is there twice; each name once")
    return names


Names = Annotated[list[Name], AfterValidator(_distinct)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(gt=0, lt=1)]


def check_names(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raise ValueError for the first of `names` that is not among `known`."""
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"unknown {what} '{name}'; known: {', '.join(map(str, known)) or 'none'}")


class Settings(BaseModel):
    """Base of all sections: immutable, and unknown keys are refused with the list of known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            for key in data:
                if key not in cls.model_fields:
                    raise ValueError(f"unknown key '{key}'; known keys: {', '.join(cls.model_fields)}")
        return data
