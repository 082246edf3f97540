"""What a model's responses take: as measured in finished files where there are any, else as the config says."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from entropy_sentinel.config.sections import Config
from entropy_sentinel.engines.generation import Rates
from entropy_sentinel.planning.files import StudyFiles, generations_file, read


@dataclass(frozen=True)
class Traces:
    """The size of finished generations: numbers of responses and tokens, and bytes on disk."""

    responses: int = 0
    tokens: int = 0
    size: int = 0

    def __add__(self, other: "Traces") -> "Traces":
        return Traces(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def rates(self) -> dict[str, float]:
        """Tokens per response and bytes per token; empty where there is no token."""
        if not self.tokens:
            return {}
        return {"tokens_per_response": self.tokens / self.responses, "bytes_per_token": self.size / self.tokens}


def model_rates(config: Config, files: StudyFiles) -> dict[str, tuple[Rates, str]]:
    """The rates of each model that is run, and where the length of its responses is from.

    The model's own files come first, then what the config says of this model, then the files of the study's other
    models, then what the config says of all.
    """
    traces = {model: _traces(config, model, files) for model in config.run.models}
    all_traces = sum(traces.values(), Traces())
    found = {}
    for model, own in traces.items():
        said = config.models[model].rates
        values = config.rates.model_dump() | all_traces.rates | said | own.rates
        origin = "config"
        if own.tokens:
            origin = "own files"
        elif all_traces.tokens and "tokens_per_response" not in said:
            origin = "others' files"
        found[model] = (Rates(**values), origin)
    return found


def _traces(config: Config, model: str, files: StudyFiles) -> Traces:
    paths = [generations_file(config, model, benchmark) for benchmark in config.run.benchmarks]
    return sum((_measured(path) for path in paths if path in files.modified), Traces())


def _measured(path: Path) -> Traces:
    held = read(pl.scan_parquet(path).select(pl.len().alias("responses"), pl.col("n_tokens").sum().alias("tokens")))
    return Traces() if held is None else Traces(held["responses"][0], held["tokens"][0], path.stat().st_size)
