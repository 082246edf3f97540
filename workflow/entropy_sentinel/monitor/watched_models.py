"""The models that a run watches: an estimator for each, its state, and how its responses are read."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, TypeVar

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.core.urls import make_file_name
from entropy_sentinel.estimators.fitted_estimator import FittedEstimator
from entropy_sentinel.logs.model_names import strip_prefix
from entropy_sentinel.monitor.monitor_options import MODEL, Reading
from entropy_sentinel.monitor.reading.feature_stream import load_with_checksum

Estimators = list[FittedEstimator | str | Path] | tuple[FittedEstimator | str | Path, ...]
Options = TypeVar("Options", bound=Reading)


@dataclass(frozen=True)
class WatchedModel(Generic[Options]):
    """An estimator and the responses that it estimates.

    Attributes:
        saved: The estimator.
        checksum: The SHA-256 of its file; empty without one.
        file: The name of its file, without suffixes; empty without one.
        state: The file that keeps its sums, or null.
        options: The options for its responses.
        model: The model of these responses if there are several estimators; null for all responses.
    """

    saved: FittedEstimator
    checksum: str
    file: str
    state: Path | None
    options: Options
    model: str | None


@dataclass(frozen=True)
class WatchedModels(Generic[Options]):
    """The models of a run, and how one pass reads the responses of all of them.

    Attributes:
        models: The models.
        reading: The options for the pass, which selects the responses of all models.
        names: The names of the models if there are several estimators, else null.
        user_named: Whether the user has named the models to watch, so that others are left out on purpose.
    """

    models: tuple[WatchedModel[Options], ...]
    reading: Options
    names: tuple[str, ...] | None
    user_named: bool

    @property
    def states(self) -> list[Path]:
        """The files of the states."""
        return [watched.state for watched in self.models if watched.state is not None]


def watch_models(
    estimator: FittedEstimator | str | Path | Estimators, options: Options, state: str | Path | None
) -> WatchedModels[Options]:
    """Load the estimator or estimators of a run; raise ConfigError unless each of several is for another model."""
    if not isinstance(estimator, list | tuple):
        watched = _load_model(estimator, options, None if state is None else Path(state), None)
        return WatchedModels((watched,), options, None, user_named=False)
    if not estimator:
        raise ConfigError("estimator: must be at least one, got an empty list")
    if options.any_model:
        raise ConfigError("any_model: must not be set with several estimators, each of which is for its own model")
    by = options.by if MODEL in options.by else (MODEL, *options.by)
    user_models = {strip_prefix(pair.partition("=")[2]) for pair in options.where if _names_model(pair)}
    where = tuple(pair for pair in options.where if not _names_model(pair))
    watched_by_model: dict[str, WatchedModel[Options]] = {}
    for number, source in enumerate(estimator, start=1):
        name = str(number) if isinstance(source, FittedEstimator) else str(source)
        watched = _load_model(source, options, None if state is None else Path(state), name)
        model = str(watched.model)
        if model in watched_by_model:
            raise ConfigError(
                f"estimator {name}: must be of another model than the other estimators, got also of '{model}'"
            )
        if watched.state is not None and watched.state in [entry.state for entry in watched_by_model.values()]:
            raise ConfigError(f"state: {watched.state} would belong to two models; run a monitor for each of them")
        own_options = options.model_copy(update={"by": by, "where": (*where, f"{MODEL}={model}")})
        watched_by_model[model] = replace(watched, options=own_options)
    for pair in options.same_model:
        if strip_prefix(pair.partition("=")[0]) not in watched_by_model:
            names = ", ".join(watched_by_model)
            raise ConfigError(f"same_model: must be OLD=NEW, where OLD has an estimator ({names}), got '{pair}'")
    chosen = [watched for model, watched in watched_by_model.items() if not user_models or model in user_models]
    if not chosen:
        raise ConfigError(f"where: must name a model that has an estimator ({', '.join(watched_by_model)})")
    models = tuple(str(watched.model) for watched in chosen)
    model_pairs = (*where, *(f"{MODEL}={model}" for model in models))
    reading = options.model_copy(update={"by": by, "where": model_pairs})
    return WatchedModels(tuple(chosen), reading, models, user_named=bool(user_models))


def _load_model(
    source: FittedEstimator | str | Path, options: Options, state: Path | None, name: str | None
) -> WatchedModel[Options]:
    """Load an estimator; `name` is what errors call it if there are several, each with a state of its own."""
    saved, checksum = load_with_checksum(source, state)
    file = "" if isinstance(source, FittedEstimator) else make_file_name(source).partition(".")[0]
    if name is None:
        return WatchedModel(saved, checksum, file, state, options, None)
    model = strip_prefix(str(saved.metadata.model or ""))
    if not model:
        raise ConfigError(f"estimator {name}: must name its model if there are several estimators; fit it again")
    if state is not None:
        state = Path(f"{state}.{re.sub(r'[^A-Za-z0-9._-]', '-', model)}")
    return WatchedModel(saved, checksum, file, state, options, model)


def _names_model(pair: str) -> bool:
    """Whether a pair of `where`, NAME=VALUE, is about the model."""
    return pair.partition("=")[0] == MODEL
