"""The remaining passes in which a model is asked again about its responses, and their cost."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import polars as pl

from entropy_sentinel.config.generations import family_settings, pass_gpus
from entropy_sentinel.config.layout import StudyLayout, parts_folder
from entropy_sentinel.config.sections import Config
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.planning.files import read
from entropy_sentinel.planning.responses import Outlook
from entropy_sentinel.signals.catalogue import FAMILIES


@dataclass(frozen=True)
class Passes:
    """The passes left for one family and model: the responses to ask about and their contexts."""

    family: str
    model: str
    responses: int
    contexts: float
    gpu_h: float


def passes(outlook: Outlook) -> list[Passes]:
    """Return the passes left per family and model, if any; benchmarks with an unknown number of items are left out."""
    run = outlook.config.run
    pairs = product(run.asking_families, run.models)
    wanted = (_of(outlook, family, model) for family, model in pairs if outlook.config.asked_again(family, model))
    return [left for left in wanted if left.responses]


def _of(outlook: Outlook, family: str, model: str) -> Passes:
    config, (rates, _), declared = outlook.config, outlook.rates[model], FAMILIES[family].asks
    assert declared is not None  # only such families have passes
    template = StudyLayout(config.study).passes
    left = [
        max((outlook.responses[model, benchmark].total or 0) - _in_parts(path), 0)
        for benchmark in config.run.benchmarks
        if (path := Path(template.format(family=family, model=model, benchmark=benchmark))) in outlook.files.to_make
    ]
    settings = family_settings(config, family)
    samples = config.samples_of(model)
    share = min(declared.first_responses(settings) or samples, samples) / samples
    responses = round(sum(left) * share)
    contexts = responses * rates.tokens_per_response * declared.contexts_per_token(settings)
    seconds = (
        contexts / rates.contexts_per_s + starts(config, sum(n_left > 0 for n_left in left)) * rates.engine_start_s
    )
    return Passes(family, model, responses, contexts, seconds / 3600 * pass_gpus(config, family, model))


def starts(config: Config, jobs: int) -> int:
    """Return the number of engines that the jobs of a model start on one GPU."""
    return min(jobs, 1) if config.generation.engine_idle_s else jobs


def _in_parts(output: Path) -> int:
    """Return the number of responses that a running job has asked about."""
    parts = sorted(Path(parts_folder(str(output))).glob("part-*.parquet"))
    frames = [read(pl.scan_parquet(part).select(RESPONSE).unique()) for part in parts]
    return sum(len(frame) for frame in frames if frame is not None)


def shown(left: list[Passes]) -> list[str]:
    """Return a sentence for each family that has passes left."""
    lines = []
    for family in dict.fromkeys(part.family for part in left):
        own = [part for part in left if part.family == family]
        responses, contexts = sum(part.responses for part in own), sum(part.contexts for part in own)
        gpu_h = sum(part.gpu_h for part in own)
        lines.append(
            f"The family {family} asks the model again about {responses:,} responses: about {contexts / 1e6:,.2f} "
            f"million contexts, {gpu_h:,.2f} of the GPU-hours."
        )
    return lines
