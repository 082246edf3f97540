"""The configuration as a whole: `load_config` is the only way in.

The JSON schema in `workflow/schemas/config.schema.json` is generated from these classes
(`python -m entropy_sentinel.config.config`), and a test fails when it has drifted.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError, model_validator

from entropy_sentinel.analyses.accuracy.settings import Presentation
from entropy_sentinel.config.layout import STAGE_FOLDERS
from entropy_sentinel.config.settings import Rates, Run
from entropy_sentinel.engines.settings import Generation, Model
from entropy_sentinel.estimators.settings import Estimation, Group
from entropy_sentinel.frames.errors import ConfigError
from entropy_sentinel.frames.sections import Name, Settings, check_names
from entropy_sentinel.judges.settings import Judge
from entropy_sentinel.sources.settings import Benchmark


class Config(Settings):
    """The whole configuration."""

    study: Name = Field(description="results go to results/<study>/")
    seed: int = Field(42, ge=0, description="seed of everything that draws")
    limit: int | None = Field(None, ge=1, description="items per benchmark; null for all")
    run: Run
    generation: Generation = Generation()
    estimation: Estimation = Estimation()
    presentation: Presentation
    rates: Rates = Rates()
    models: dict[Name, Model]
    benchmarks: dict[Name, Benchmark]
    judges: dict[Name, Judge]
    groups: dict[Name, Group]

    @model_validator(mode="after")
    def _local_files_exist(self) -> "Config":
        """Only of what is run: settings of other models and benchmarks may wait for their files."""
        for name in self.run.models:
            path = self.models[name].path if name in self.models else None
            if path is not None and not (Path(path) / "config.json").is_file():
                raise ValueError(f"models.{name}.path: must be a folder with a config.json; '{path}' has none")
            lora = self.models[name].lora if name in self.models else None
            if lora is not None and not (Path(lora) / "adapter_config.json").is_file():
                raise ValueError(f"models.{name}.lora: must be a folder with an adapter_config.json; '{lora}' has none")
            source = self.models[name].source if name in self.models else None
            missing = [one for one in self.run.benchmarks if source and not (Path(source) / f"{one}.parquet").is_file()]
            if missing:
                raise ValueError(f"models.{name}.source: must hold {missing[0]}.parquet; '{source}' does not")
        for name in self.run.benchmarks:
            path = self.benchmarks[name].path if name in self.benchmarks else None
            if path is not None and not Path(path).is_file():
                raise ValueError(f"benchmarks.{name}.path: must be a file; there is none at '{path}'")
        for name in self.run.judges:
            path = self.judges[name].path if name in self.judges else None
            files = [f"{model}/{benchmark}.parquet" for model in self.run.models for benchmark in self.run.benchmarks]
            missing = [file for file in files if path is not None and not (Path(path) / file).is_file()]
            if missing:
                raise ValueError(f"judges.{name}.path: must hold {missing[0]}; '{path}' does not")
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> "Config":
        for axis in ("models", "benchmarks", "judges", "groups"):
            check_names(f"name in run.{axis}:", getattr(self.run, axis), getattr(self, axis))
        for name in self.judges:
            if name in STAGE_FOLDERS:
                raise ValueError(
                    f"judges.{name}: its results would go to the folder of the stage '{name}'; choose another name"
                )
        for name in self.run.groups:
            check_names(f"benchmark in groups.{name}:", self.groups[name].benchmarks, self.run.benchmarks)
        for sweep in self.run.sizes:
            if sweep.size >= len(self.run.benchmarks):
                raise ValueError(
                    f"run.sizes: size {sweep.size} leaves no benchmark unseen; run.benchmarks has "
                    f"{len(self.run.benchmarks)}"
                )
        show = self.presentation
        check_names("model in presentation.auroc_models:", show.auroc_models, self.run.models)
        check_names("model in presentation.figure_model:", [show.figure_model], self.run.models)
        check_names("benchmark in presentation.auroc_benchmarks:", show.auroc_benchmarks, self.run.benchmarks)
        check_names("benchmark in presentation.figure_benchmark:", [show.figure_benchmark], self.run.benchmarks)
        check_names("group in presentation.headline_group:", [show.headline_group], self.run.groups)
        return self


def read_config(paths: Iterable[str | Path]) -> dict[str, Any]:
    """Config files as one dict, each over those before it, as Snakemake does: dicts are merged, the rest is replaced.

    Not checked: see `load_config`. Raises ConfigError for a file that is absent or no YAML mapping.
    """
    merged: dict[str, Any] = {}
    for path in paths:
        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise ConfigError(f"{path}: cannot be read as YAML: {error}") from error
        if not isinstance(content, dict):
            raise ConfigError(f"{path}: must be a YAML mapping with the config's keys at the top")
        merged = _merge(merged, content)
    return merged


def _merge(below: Any, above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below) if isinstance(below, Mapping) else {}
    for key, value in above.items():
        merged[key] = _merge(merged.get(key), value) if isinstance(value, Mapping) else value
    return merged


def load_config(raw: Mapping[str, Any], source: str = "config") -> Config:
    """Check a configuration; `source` is the file name that errors begin with.

    Raises ConfigError with one line per problem: where, what it must be, what it was.
    """
    try:
        return Config.model_validate(dict(raw))
    except ValidationError as error:
        problems = "\n".join(f"{source}: {_describe(problem)}" for problem in error.errors())
        raise ConfigError(problems) from None


def _describe(problem: Mapping[str, Any]) -> str:
    """One line for one of Pydantic's errors: `models.qwen3-4b: unknown key 'temprature'; ...`."""
    where = ".".join(str(part) for part in problem["loc"] if part != "[key]")
    message = problem["msg"].removeprefix("Value error, ")
    value = problem.get("input")
    if isinstance(value, str | int | float | bool) or value is None:
        message += f"; it was {json.dumps(value)}" if problem["type"] != "missing" else ""
    return f"{where}: {message}" if where else message


def json_schema() -> str:
    """The JSON schema of the configuration, for editors."""
    return json.dumps(Config.model_json_schema(), indent=2) + "\n"


if __name__ == "__main__":
    Path(__file__).parents[2].joinpath("schemas", "config.schema.json").write_text(json_schema())
