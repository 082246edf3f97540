"""The config's section `run`, variants of models, and whether models can be asked again about their responses."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from entropy_sentinel.core.section_base import Names, Positive, Settings, check_names, merge_sections
from entropy_sentinel.signal_families.signal_registry import FAMILIES, TOKENS
from entropy_sentinel.study.engines.engine_registry import KINDS
from entropy_sentinel.study.engines.model_base import Model

ALL_BUT_ONE: Literal["all-but-one"] = "all-but-one"


class SweepSize(Settings):
    """All training groups of one size from the benchmarks with references."""

    size: Positive | Literal["all-but-one"] = Field(
        description="number of benchmarks in a group; all-but-one leaves out one at a time, however many there are"
    )
    configurations: Literal["all", "default"] = Field(
        "default", description="`all` 48 configurations, or only the `default`"
    )

    def number(self, n_labelled: int) -> int:
        """The size as a number, for this number of benchmarks with references."""
        return n_labelled - 1 if self.size == ALL_BUT_ONE else self.size


def _check_distinct_sizes(sizes: list[SweepSize]) -> list[SweepSize]:
    """The sizes, unchanged; raises ValueError if one occurs twice."""
    values = [sweep.size for sweep in sizes]
    for size in values:
        if values.count(size) > 1:
            raise ValueError(f"size {size} occurs twice; name each once")
    return sizes


class Run(Settings):
    """The axes of the study: what is run. They are lists, so that a second config file replaces them as a whole."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "tables": "is now analyses.accuracy.tables, a list of names such as 2_by_model; null for all",
        "figures": "is now analyses.accuracy.figures, a list of names such as 1_accuracies; null for all",
    }

    models: Names = Field(min_length=1, description="models to run, names of the section `models`")
    benchmarks: Names = Field(min_length=1, description="benchmarks to run, names of the section `benchmarks`")
    judges: Names = Field(
        ["math-verify"],
        min_length=1,
        description="judges to run, names of the section `judges`; the first is the primary one",
    )
    features: Names = Field(
        [TOKENS],
        description="families of signals in the observations that this study's estimators can use: tokens (the "
        "features), and families of the package, of papers/ and of extensions",
    )
    groups: Names = Field(
        [],
        description="named training groups to run, names of the section `groups`; a group whose benchmarks are not all "
        "run is left out. May be empty",
    )
    sizes: Annotated[list[SweepSize], AfterValidator(_check_distinct_sizes)] = Field(
        [],
        description="training groups to run by size: every subset of that size of the benchmarks that have "
        "references; a size that leaves no benchmark unseen is skipped",
    )
    analyses: Names = Field(
        ["accuracy"],
        min_length=1,
        description="analyses of the results, of the package, of papers/ and of extensions, each with its section in "
        "`analyses`",
    )

    @model_validator(mode="after")
    def _check_families(self) -> "Run":
        """Check that the families of signals exist, and that `tokens` is one of them."""
        check_names("family in features:", self.features, FAMILIES)
        if TOKENS not in self.features:
            raise ValueError(f"features: must have '{TOKENS}', got {', '.join(self.features) or 'empty'}")
        return self

    @property
    def further_families(self) -> list[str]:
        """The families of signals that are run, other than `tokens`."""
        return [name for name in self.features if name != TOKENS]

    @property
    def asking_families(self) -> list[str]:
        """The further families that ask the model again about its responses."""
        return [name for name in self.further_families if FAMILIES[name].requery]


@dataclass(frozen=True)
class AskingObstacle:
    """The reason why a model's responses cannot be asked about, and the remedy."""

    reason: str
    remedy: str


def find_asking_obstacle(
    models: Mapping[str, Model], name: str, family: str, plain_text_models: Collection[str]
) -> AskingObstacle | None:
    """Why a family of signals cannot ask again about the responses of model `name`; None if it can, or need not.

    `plain_text_models` are those whose responses continue plain text, without a chat template. A pass is the second run
    of a model over its responses, which may be imported from a file.
    """
    if models[name].given_passes(family):
        return None  # the pass is imported
    asked_name = models[name].same_as or name
    asked_model = models[asked_name]
    if asked_model.ENGINE and not asked_model.ASKED_BY_TOKENS:
        reason = f"the engine of '{asked_model.kind}' models cannot be asked by token ids"
        return AskingObstacle(reason, "leave the family or the model out")
    for model in (name, asked_name):
        if models[model].server is not None and model not in plain_text_models:
            remedy = "run it by 'id' or 'path', ask it with a prompt of plain text, or leave the family out"
            return AskingObstacle("a server does not return the token ids of a chat's prompt", remedy)
    if not asked_model.ENGINE:
        remedy = (
            f"name a model with its weights in models.{name}.same_as, or a folder with {family}/ in "
            f"models.{name}.source_passes, or leave the family out"
        )
        return AskingObstacle("imported traces ('source') have no engine", remedy)
    key = asked_model.no_logprobs
    if key:
        reason = f"it gives no log-probabilities (models.{asked_name}.{key})"
        return AskingObstacle(reason, "leave the family or the model out")
    return None


def check_asking(
    models: Mapping[str, Model], run: Iterable[str], family: str, plain_text_models: Collection[str]
) -> None:
    """Raise ValueError for a family that cannot ask again about the responses of any of the models that are `run`.

    If only some cannot be asked about, their signals are null, with the reason. ValueError is also raised if the config
    lacks a fact about the server of a model that can be asked.
    """
    obstacles: dict[str, str] = {}
    askable: list[str] = []
    for name in run:
        obstacle = find_asking_obstacle(models, name, family, plain_text_models)
        if obstacle is None:
            askable.append(name)
        else:
            obstacles[name] = f"{obstacle.reason}; {obstacle.remedy}"
    if askable:
        obstacles = {}  # the signals of the others are null
        for name in askable:
            if models[name].given_passes(family):
                continue
            missing_key = _find_unset_key(models, models[name].same_as or name, family)
            if missing_key is not None:
                obstacles[name] = missing_key
    for name, problem in obstacles.items():
        raise ValueError(
            f"models.{name}: run.features has '{family}', for which the model is asked again about its responses by "
            f"token ids, and {problem}"
        )


def _find_unset_key(models: Mapping[str, Model], model: str, family: str) -> str | None:
    """The error about a key that the config must still set for a model before it can be asked; None without one."""
    requery = FAMILIES[family].requery
    if requery is None or models[model].server is None:
        return None
    for key in requery.needed_of_servers:
        if models[model].unreported_facts().get(key) is None:
            return f"models.{model}.{key} is not set, and servers do not report it; set it"
    return None


def extend_models(models: Mapping[str, Any]) -> dict[str, Any]:
    """The section `models` in which each model has the keys of the model that it extends, except its title.

    Raises ValueError for a model that extends an unknown one, or itself, or that names other weights.
    """
    return {name: _extend_model(name, models, ()) for name in models}


def _extend_model(name: str, models: Mapping[str, Any], descendants: tuple[str, ...]) -> Any:
    """A model's section, merged over that of the model it extends; `descendants` are the models that extend it.

    A section that is not a mapping, or extends nothing, is unchanged; its type is checked later.
    """
    section = models[name]
    if not isinstance(section, Mapping) or not isinstance(section.get("extends"), str):
        return section
    base = section["extends"]
    chain = (*descendants, name)
    check_names(f"model in models.{name}.extends:", [base], models)
    if base in chain:
        raise ValueError(f"models.{chain[0]}.extends: a model cannot extend itself: {' -> '.join((*chain, base))}")
    for kind in KINDS:
        if section.get(kind) is not None:
            raise ValueError(f"models.{name}: takes its weights from '{base}', which it extends; leave '{kind}' out")
    base_section = _extend_model(base, models, chain)
    if not isinstance(base_section, Mapping):
        return section
    # A variant is displayed under its own name.
    return merge_sections({key: value for key, value in base_section.items() if key != "title"}, section)
