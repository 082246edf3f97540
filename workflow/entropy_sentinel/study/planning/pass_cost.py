"""The remaining passes and their cost: in a pass, a signal family asks a model again, about its responses."""

from dataclasses import dataclass
from itertools import groupby, product
from operator import attrgetter
from pathlib import Path

import polars as pl

from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.config.generation_requests import count_pass_gpus, family_settings
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.config.study_paths import get_parts_folder
from entropy_sentinel.study.planning.file_plan import read_frame
from entropy_sentinel.study.planning.response_cost import Outlook


@dataclass(frozen=True)
class Passes:
    """The passes left for one family and model: the responses to ask about and their contexts."""

    family: str
    model: str
    responses: int
    contexts: float
    gpu_h: float


def plan_passes(outlook: Outlook) -> list[Passes]:
    """The passes (second runs of a model, over its responses) that signal families still need, per family and model.

    Benchmarks with an unknown number of items are left out.
    """
    run = outlook.config.run
    pending: list[Passes] = []
    for family, model in product(run.asking_families, run.models):
        if outlook.config.find_requery_model(family, model):  # else the pass is imported, or no model can be asked
            work = _plan_model_passes(outlook, family, model)
            if work.responses:
                pending.append(work)
    return pending


def _plan_model_passes(outlook: Outlook, family: str, model: str) -> Passes:
    """The work left of a family's passes for one model.

    A family may ask about only the first samples of each item: their `share` of the model's responses. A context is a
    text after which the model gives one prediction.
    """
    config = outlook.config
    rates, _origin = outlook.rates[model]
    requery = FAMILIES[family].requery
    assert requery is not None  # only such families have passes
    template = config.layout.passes
    n_left = n_jobs = 0
    for benchmark in config.run.benchmarks:
        path = Path(template.format(family=family, model=model, benchmark=benchmark))
        if path in outlook.files.to_make:
            left = max((outlook.responses[model, benchmark].total or 0) - _count_finished(path), 0)
            n_left += left
            n_jobs += left > 0
    settings = family_settings(config, family)
    samples = config.count_samples(model)
    share = min(requery.first_responses(settings) or samples, samples) / samples
    responses = round(n_left * share)
    contexts = responses * rates.tokens_per_response * requery.contexts_per_token(settings)
    seconds = contexts / rates.contexts_per_s + count_starts(config, n_jobs) * rates.engine_start_s
    return Passes(family, model, responses, contexts, seconds / 3600 * count_pass_gpus(config, family, model))


def count_starts(config: Config, jobs: int) -> int:
    """The number of engines that the jobs of a model start on one GPU: one for all, if it waits for the next job."""
    return min(jobs, 1) if config.generation.engine_idle_s else jobs


def _count_finished(output: Path) -> int:
    """The number of responses that a running job has asked about."""
    n_responses = 0
    for part in Path(get_parts_folder(str(output))).glob("part-*.parquet"):
        responses = read_frame(pl.scan_parquet(part).select(RESPONSE).unique())
        n_responses += 0 if responses is None else len(responses)
    return n_responses


def describe_passes(pending: list[Passes], hours: str) -> list[str]:
    """A sentence for each family that has passes left; `hours` are GPU-hours, or those of engines on CPUs."""
    lines = []
    for family, models in groupby(pending, attrgetter("family")):  # `plan_passes` sorts by family
        responses, contexts, gpu_h = 0, 0.0, 0.0
        for work in models:
            responses += work.responses
            contexts += work.contexts
            gpu_h += work.gpu_h
        lines.append(
            f"The family {family} asks the model again about {responses:,} responses: about {contexts / 1e6:,.2f} "
            f"million contexts, {gpu_h:,.2f} of the {hours}."
        )
    return lines
