"""The remaining work of a study and its cost, estimated before anything runs."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from operator import add

from entropy_sentinel.formatting.text_format import format_count, format_millions
from entropy_sentinel.rendering.terminal_text import Part, format_terminal_table
from entropy_sentinel.study.config.generation_requests import count_gpus
from entropy_sentinel.study.config.group_estimates import training_groups
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.jobs.reuse_plan import describe_reusable
from entropy_sentinel.study.planning.file_plan import plan_files
from entropy_sentinel.study.planning.job_measurements import (
    JobMeasurement,
    compute_job_speed,
    compute_search_cpu_s,
    count_searches,
    describe_measurements,
    read_measurements,
)
from entropy_sentinel.study.planning.judge_cost import Judging, describe_judging, plan_judging
from entropy_sentinel.study.planning.pass_cost import Passes, count_starts, describe_passes, plan_passes
from entropy_sentinel.study.planning.response_cost import Outlook


@dataclass(frozen=True)
class Cost:
    """The planned responses of one model or of the study, those `left`, and the cost of these and of later stages."""

    responses: int = 0
    left: int = 0
    tokens: float = 0
    disk_gb: float = 0
    gpu_h: float = 0
    usd: float = 0
    estimate_cpu_h: float = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*map(add, astuple(self), astuple(other)))


def forecast_costs(
    outlook: Outlook,
    judge_work: Sequence[Judging],
    pass_work: Sequence[Passes],
    on_cpu: bool = False,
    measured: Mapping[str, Sequence[JobMeasurement]] | None = None,
) -> dict[str, Cost]:
    """The remaining cost of each model; benchmarks with an unknown number of items are left out.

    `judge_work` are the labels left for judges behind servers, `pass_work` the second runs of models that families of
    signals need. With `on_cpu`, engines run on CPUs: their hours are in place of GPU-hours, and have no price. Speed
    and CPU time of finished jobs, by stage (`measured`), replace the config's rates.
    """
    measured = measured or {}
    search = compute_search_cpu_s(outlook.config, measured.get("estimates", ()))
    costs = {}
    for model in outlook.config.run.models:
        rates, _origin = outlook.rates[model]
        search_s = rates.estimate_cpu_s if search is None else search.value
        measured_rate = compute_job_speed(outlook.config, model, measured.get("generations", ()))
        speed = measured_rate.value if measured_rate else None
        costs[model] = _forecast_model(outlook, model, judge_work, pass_work, on_cpu, speed, search_s)
    return costs


def _forecast_model(
    outlook: Outlook,
    model: str,
    judge_work: Sequence[Judging],
    pass_work: Sequence[Passes],
    on_cpu: bool,
    speed: float | None,
    search_s: float,
) -> Cost:
    """The remaining cost of a model.

    `speed` is measured: tokens per second, over a time that includes the starts of engines; None without a finished
    job. `search_s` are the CPU-seconds of the search over all hyperparameter configurations for one training group.
    """
    config = outlook.config
    rates, _origin = outlook.rates[model]
    total = 0
    left_by_job: list[int] = []  # a generation job answers one benchmark
    for benchmark in config.run.benchmarks:
        count = outlook.responses[model, benchmark]
        total += count.total or 0
        if count.left:
            left_by_job.append(count.left)
    left = sum(left_by_job)
    tokens = left * min(rates.tokens_per_response, outlook.max_response_tokens(model))
    if speed:
        engine_s = tokens / speed
    else:
        engine_s = tokens / rates.tokens_per_s + count_starts(config, len(left_by_job)) * rates.engine_start_s
    gpu_h = engine_s / 3600 * count_gpus(config, model)
    gpu_h += sum(passes.gpu_h for passes in pass_work if passes.model == model)
    n_unpriced_labels = _count_unpriced_labels(outlook, model)
    # Judges with prices of their own; the labels of all others cost `rates.judge_usd_per_response`.
    priced_judges_usd = sum(judge.usd or 0 for judge in judge_work if judge.model == model)
    return Cost(
        responses=total,
        left=left,
        tokens=tokens,
        disk_gb=(tokens * rates.bytes_per_token + _count_copied_bytes(outlook, model)) / 1e9,
        gpu_h=gpu_h,
        usd=(0 if on_cpu else gpu_h * rates.gpu_usd_per_h)
        + n_unpriced_labels * rates.judge_usd_per_response
        + priced_judges_usd,
        estimate_cpu_h=_count_searches_left(outlook, model) * search_s / 3600,
    )


def _count_copied_bytes(outlook: Outlook, model: str) -> int:
    """The size of the files of responses that this study will copy from other studies, bytes."""
    return sum(path.stat().st_size for (name, _), path in outlook.reusable.items() if name == model)


def _count_unpriced_labels(outlook: Outlook, model: str) -> int:
    """The number of responses left to judge, over all judges that are asked and have no prices of their own."""
    config, layout = outlook.config, outlook.config.layout
    n_left = 0
    for judge, benchmark in product(config.run.judges, config.run.benchmarks):
        has_prices = config.judges[config.find_judge(judge, benchmark)].prices[0] is not None
        if has_prices or not config.benchmarks[benchmark].reference:  # without a reference nobody is asked
            continue
        # Nobody is asked for imported labels either. Basic judges are those that a combination of judges asks.
        if all(config.judges[name].IMPORTED for name in config.basic_judges(judge, benchmark)):
            continue
        if outlook.is_to_make(layout.labels, judge=judge, model=model, benchmark=benchmark):
            n_left += outlook.responses[model, benchmark].total or 0
    return n_left


def _count_searches_left(outlook: Outlook, model: str) -> float:
    """The searches over all hyperparameter configurations that are left for a model, over judges and training groups.

    A group that fits k of the n configurations counts as k / n of a search.
    """
    config, layout = outlook.config, outlook.config.layout
    n_left = 0.0
    for judge, (group, n_searches) in product(config.run.judges, count_searches(config).items()):
        if outlook.is_to_make(layout.estimates, judge=judge, model=model, group=group):
            n_left += n_searches
    return n_left


_HEADINGS = (
    "model",
    "responses",
    "left",
    "tokens each",
    "tokens (M)",
    "disk (GB)",
    "GPU-hours",
    "USD",
    "CPU-hours",
    "from",
)

_GPU_HOURS = "GPU-hours"
_ON_CPU = {_GPU_HOURS: "engine-hours", "CPU-hours": "estimation CPU-hours"}
_ON_GPU_NOTE = (
    "Speed, prices ({:g} USD per GPU-hour) and CPU time (estimation) come from `rates` in the config, and are only as "
    "accurate; if you use your own machine, set rates.gpu_usd_per_h to 0."
)
_ON_CPU_NOTE = (
    "vLLM is a CPU build here, so engines run on this machine's CPUs, without a price. Their hours come from "
    "`rates.tokens_per_s` in the config, which is the speed of a GPU unless you set it: a first benchmark tells yours. "
    "CPU time (estimation) comes from `rates`, too."
)


def _format_samples(config: Config) -> str:
    """The responses per item as text: `1 sample`, or `1 to 10 samples` if models differ."""
    counts = sorted({config.count_samples(model) for model in config.run.models})
    return format_count(counts[0], "sample") if len(counts) == 1 else f"{counts[0]} to {counts[-1]} samples"


def describe_forecast(config: Config, on_cpu: bool = False) -> list[Part]:
    """The forecast as shown, part by part: a table with a row per model and a total, notes, and what it leaves out.

    With `on_cpu`, engines run on CPUs.
    """
    outlook = Outlook(config, plan_files(config))
    rates = outlook.rates
    judge_work = plan_judging(outlook)
    pass_work = plan_passes(outlook)
    measured = read_measurements(config)
    costs = forecast_costs(outlook, judge_work, pass_work, on_cpu, measured)
    rows = []
    for model, cost in costs.items():
        model_rates, origin = rates[model]
        rows.append(_format_row(model, cost, f"{model_rates.tokens_per_response:,.0f}", origin))
    total = sum(costs.values(), Cost())
    rows.append(_format_row("total", total, "", ""))
    headings = [_ON_CPU.get(heading, heading) if on_cpu else heading for heading in _HEADINGS]
    parts: list[Part] = [
        f"Study '{config.study}': {format_count(len(costs), 'model')} x "
        f"{format_count(len(config.run.benchmarks), 'benchmark')}, "
        f"{_format_samples(config)} per item, {format_count(len(config.run.judges), 'judge')}, "
        f"{format_count(len(training_groups(config)), 'training group')}",
        f"Responses: {total.responses:,}; {total.responses - total.left:,} are done and {total.left:,} left. "
        "The figures are for what is left.",
        *describe_reusable(outlook.reusable),
        format_terminal_table(headings, rows, last_is_total=True),
        "Tokens each: the mean length of a response, from the first of these: the model's finished files, the config's "
        "settings for the model, other models' files, the config's settings for all models.",
        _ON_CPU_NOTE if on_cpu else _ON_GPU_NOTE.format(config.rates.gpu_usd_per_h),
        *([] if on_cpu else _describe_sources(outlook)),
        *_describe_rates(config, measured),
    ]
    parts += describe_passes(pass_work, _ON_CPU[_GPU_HOURS] if on_cpu else _GPU_HOURS)
    parts += describe_judging(config, judge_work)
    unknown = sorted({benchmark for (_, benchmark), count in outlook.responses.items() if count.total is None})
    if unknown:
        parts.append(f"Not included because the number of items is unknown (set expected_items): {', '.join(unknown)}.")
    remote_models = [model for model in costs if config.models[model].server is not None]
    if remote_models:
        parts.append(f"Not included: the provider's charges for {', '.join(remote_models)}.")
    parts += describe_measurements(measured)
    return parts


def _describe_sources(outlook: Outlook) -> list[str]:
    """Lines that name the source of the speeds of models with weights, or say that they are assumptions."""
    models_by_source: dict[str | None, list[str]] = {}
    for model, (rates, _origin) in outlook.rates.items():
        if outlook.config.models[model].LOADS_WEIGHTS:
            models_by_source.setdefault(rates.source, []).append(model)
    assumed = models_by_source.pop(None, [])  # without a source, rates are not measured
    lines = [f"Speed of {', '.join(names)}: measured, {source}." for source, names in models_by_source.items()]
    if assumed:
        subject = f"The speeds of {', '.join(assumed)}" if lines else "All speeds"
        lines.append(f"{subject} are assumptions, not measurements. `make bench-gpu` measures the speeds of your GPU.")
    return lines


def _describe_rates(config: Config, measured: Mapping[str, Sequence[JobMeasurement]]) -> list[str]:
    """A line with the rates that finished jobs give in place of the config's; nothing without any."""
    rates = []
    for model in config.run.models:
        if speed := compute_job_speed(config, model, measured["generations"]):
            rates.append(
                f"{model} {speed.value:,.0f} tokens/s with the starts of engines ({format_count(speed.n_jobs, 'job')})"
            )
    if search := compute_search_cpu_s(config, measured["estimates"]):
        jobs = format_count(search.n_jobs, "job")
        rates.append(f"{search.value:.2f} CPU-seconds per training group with all configurations ({jobs})")
    return [f"In place of `rates`, measured in this study: {'; '.join(rates)}."] if rates else []


def _format_row(name: str, cost: Cost, tokens_each: str, origin: str) -> list[str]:
    """The cells of a row under `_HEADINGS`; `origin` is where the tokens of each response come from."""
    amounts = [f"{value:,.2f}" for value in (cost.disk_gb, cost.gpu_h, cost.usd, cost.estimate_cpu_h)]
    return [name, f"{cost.responses:,}", f"{cost.left:,}", tokens_each, format_millions(cost.tokens), *amounts, origin]
