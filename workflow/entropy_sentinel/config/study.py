"""What a configuration asks for: its training groups and the settings that each stage's results depend on.

A job carries its stage's settings as one dict, so that Snakemake reruns it when one of them changes, and only then.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable
from itertools import combinations
from pathlib import Path
from typing import Any

from entropy_sentinel.analyses.settings import Reads
from entropy_sentinel.config.layout import Layout
from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.weights import folder_fingerprint
from entropy_sentinel.engines.catalogue import PROMPTS
from entropy_sentinel.engines.settings import PARALLEL_SIZES, AnyModel
from entropy_sentinel.estimators.catalogue import CONFIGURATIONS, in_order
from entropy_sentinel.estimators.settings import OWN, Group, group_file, group_id
from entropy_sentinel.frames.benchmark import BENCHMARK_VERSION
from entropy_sentinel.frames.generation import GENERATION_VERSION, TOP_K
from entropy_sentinel.frames.label import LABEL_VERSION
from entropy_sentinel.judges.settings import AnyJudge, Llm, members
from entropy_sentinel.sources.settings import SOURCE_ENDS


def training_groups(config: Config) -> dict[str, tuple[str, ...]]:
    """Every training group of the study, by id, with the estimators to run for it, in a fixed order.

    A group that several settings ask for gets the union of what they ask.
    """
    wanted: dict[str, set[str]] = {}
    everything = {configuration.name for configuration in CONFIGURATIONS}
    for name in config.run.groups:
        group = config.groups[name]
        estimators = everything if group.configurations == "all" else {group.estimator, config.estimation.default}
        wanted.setdefault(group.group_id, set()).update(estimators)
    for sweep in config.run.sizes:
        estimators = everything if sweep.configurations == "all" else {config.estimation.default}
        for benchmarks in combinations(sorted(config.labelled), sweep.size):
            wanted.setdefault(group_id(benchmarks), set()).update(estimators)
    return {group: in_order([*estimators, *config.estimation.estimators]) for group, estimators in wanted.items()}


def kept_estimators(config: Config, names: Iterable[str] | None = None) -> dict[str, tuple[str, ...]]:
    """The estimators of each named group that are kept as files, in the order of `estimation.keep` or of `names`."""
    wanted = list(config.estimation.keep if names is None else names)
    return {
        name: tuple(config.groups[name].estimator if one == OWN else one for one in wanted)
        for name in config.run.groups
    }


def group_files(config: Config) -> dict[str, str]:
    """The ids of all training groups by the name of their files, the `{group}` wildcard."""
    return {group_file(group): group for group in training_groups(config)}


def groups_of_judge(config: Config, judge: str) -> list[str]:
    """The files' names of the training groups that are estimated under a judge's labels.

    All where an analysis of the judge's labels reads all; else those that one shows, if any does.
    """
    read = {section.READS for section in config.shown.values() if section.is_of(judge)}
    if Reads.ALL in read:
        return list(group_files(config))
    return [group_file(group.group_id) for group in shown_groups(config).values()] if Reads.SHOWN in read else []


def pages(config: Config, judge: str, but: str) -> dict[str, dict[str, str]]:
    """The pages of the other analyses of a judge's labels, as links from the page of the analysis `but`.

    By what they tell; below it by model, or under "" where there is one page.
    """
    own = Path(getattr(config.analyses, but).PAGE).parent
    return {
        section.TELLS: {
            model: os.path.relpath(section.PAGE, own).format(judge=judge, model=model)
            for model in (config.run.models if "{model}" in section.PAGE else [""])
        }
        for name, section in config.shown.items()
        if name != but and section.PAGE and section.is_of(judge)
    }


def first_group(config: Config) -> str | None:
    """The id of the first training group: of the first named one, or the first of the first size; None without any."""
    return next(iter(training_groups(config)), None)


def shown_groups(config: Config) -> dict[str, Group]:
    """The named training groups; where none is run, the first training group under its id, or nothing."""
    group = first_group(config)
    if config.run.groups or group is None:
        return {name: config.groups[name] for name in config.run.groups}
    return {group: Group(benchmarks=group.split("+"), estimator=config.estimation.default)}


def benchmark_settings(config: Config, benchmark: str) -> dict[str, Any]:
    """What the rows of a benchmark depend on."""
    settings = config.benchmarks[benchmark]
    unset = {key for key in settings.LATER if not getattr(settings, key)}
    return {
        "version": BENCHMARK_VERSION,
        "benchmark": benchmark,
        "limit": item_limit(config, benchmark),
        "seed": config.seed,
        **settings.model_dump(exclude=settings.BESIDE | unset),
    }


def item_limit(config: Config, benchmark: str) -> int | None:
    """Items of a benchmark at most: its own limit, or else the study's; None for all."""
    own = config.benchmarks[benchmark].limit
    return config.limit if own is None else own


def generation_settings(config: Config, model: str, benchmark: str) -> dict[str, Any]:
    """What the traces of a model on a benchmark depend on, the items aside."""
    settings, shared = config.models[model], config.generation
    job = {"version": GENERATION_VERSION, "model": model, "benchmark": benchmark}
    if settings.kind == "source":
        return {
            **job,
            "engine": "source",
            "source": source_file(config, model, benchmark),
            "logprobs_mode": settings.source_logprobs_mode,
            "samples": config.samples_of(model),
            "sampling": _sampling(config, model),
        }
    return {
        **job,
        **_origin(settings),
        **_prompt(config, model),
        "samples": config.samples_of(model),
        "sampling": _sampling(config, model),
        "top_k": TOP_K,
        "seed": config.seed,
        "engine_args": shared.engine_args | settings.engine_args,
        "chat_template_kwargs": settings.chat_template_kwargs,
        **_loading(settings),
        "keep_top_token_ids": shared.keep_top_token_ids,
        "environment": shared.environment,
    }


def _sampling(config: Config, model: str) -> dict[str, Any]:
    """How a model's tokens are drawn: what is set, so that a key that is new to the schema makes nothing again."""
    asked = config.generation.sampling.model_dump() | config.models[model].sampling
    return {key: value for key, value in asked.items() if value is not None}


def _prompt(config: Config, model: str) -> dict[str, Any]:
    """What a model is asked with; a prompt of the config's own goes to the jobs as its text."""
    name, variables = config.prompt_of(model), config.models[model].prompt_variables
    prompt = config.generation_prompts[name]
    settings = {"prompt": name, "prompt_version": prompt.version}
    if variables:
        settings["prompt_variables"] = {key: str(value) for key, value in variables.items()}
    return settings if name in PROMPTS else settings | {"messages": prompt.chat}


def _loading(model: AnyModel) -> dict[str, Any]:
    """What is set where weights are loaded; nothing of it can be said to a server."""
    day, lora = (None, None) if model.kind == "api" else (model.template_date, model.lora)
    return {
        "template_date": day and day.isoformat(),
        # A matter of features since; the key stays, for traces made before are compared by it.
        "trace_after": None,
        "lora": lora,
        "lora_revision": lora and folder_fingerprint(lora),
    }


def _origin(model: AnyModel) -> dict[str, Any]:
    """Where a model's responses come from, and of which version."""
    if model.kind == "api":
        return {"engine": "api", "api": {"model": model.api.model}, "revision": model.revision}
    if model.kind == "path":
        return {"engine": "vllm", "weights": model.path, "revision": folder_fingerprint(model.path), "local": True}
    return {"engine": "vllm", "weights": model.id, "revision": model.revision, "local": False}


def source_file(config: Config, model: str, benchmark: str) -> str | None:
    """The file of traces made elsewhere that stands in for an engine, Parquet or a log; None where the model is run."""
    settings = config.models[model]
    if settings.kind != "source":
        return None
    files = [Path(settings.source) / f"{benchmark}{end}" for end in SOURCE_ENDS]
    return str(next((file for file in files if file.is_file()), files[0]))


def feature_settings(config: Config, model: str) -> dict[str, Any]:
    """What the features of a model's responses depend on, the traces aside."""
    settings = config.models[model]
    return {"trace_after": settings.trace_after, "vocabulary": settings.vocabulary}


def gpus(config: Config, model: str) -> int:
    """GPUs of one generate job: none for a server behind an API and for traces made elsewhere."""
    settings = config.models[model]
    if settings.kind in ("api", "source"):
        return 0
    arguments = config.generation.engine_args | settings.engine_args
    return math.prod(arguments.get(size, 1) for size in PARALLEL_SIZES)


def labels_files(config: Config, judge: str, model: str, benchmark: str) -> list[str]:
    """The files of labels made elsewhere that a judge, or one that it is made of, takes its labels from."""
    settings = [config.judges[name] for name in config.asked(judge, benchmark)]
    return [one.file(model, benchmark) for one in settings if one.kind == "file"]


def judge_settings(config: Config, judge: str, benchmark: str | None = None) -> dict[str, Any]:
    """What the labels of a judge depend on, or of the benchmark's own judge in its place.

    With the benchmark's tolerance where the judge compares numbers by it; of a judge made of others, under `members`,
    also what theirs depend on.
    """
    return _settings_of(config, config.judge_of(judge, benchmark), benchmark)


def _settings_of(config: Config, judge: str, benchmark: str | None) -> dict[str, Any]:
    settings = config.judges[judge]
    job = {"version": getattr(settings, "VERSION", LABEL_VERSION), "judge": judge}
    if settings.kind == "llm":
        return job | {"kind": "llm", **_llm_settings(config, settings)}
    parts = {name: _settings_of(config, name, benchmark) for name in members(settings)}
    job |= settings.model_dump(exclude_none=True) | _tolerance(config, settings, benchmark)
    return job | {"members": parts} if parts else job


def _llm_settings(config: Config, judge: Llm) -> dict[str, Any]:
    """What is asked of an LLM as judge, under `llm`; and where its jobs serve it, under `server`, the model."""
    prompt = config.judge_prompts[judge.prompt]
    # Below a key of its own: the file of labels has the name of the model that answered as `model`.
    said = judge.model_dump(include=judge.ASKED) | {"prompt_version": prompt.version, "messages": prompt.chat}
    if judge.served is None:
        return {"llm": said}
    server = _server(config, judge.served)
    # A reply that is kept is of use as long as the server is the same.
    version = hashlib.sha256(json.dumps(server, sort_keys=True).encode()).hexdigest()[:12]
    said |= {"model": f"hosted_vllm/{judge.served}", "revision": version}
    return {"llm": said, "server": server}


def _server(config: Config, model: str) -> dict[str, Any]:
    """What `engines.server.running_server` needs of a model that serves as a judge."""
    settings = generation_settings(config, model, "")
    keys = ("model", "weights", "local", "revision", "lora", "template_date", "seed", "environment")
    variables = settings["chat_template_kwargs"]
    return {key: settings[key] for key in keys} | {
        "engine_args": settings["engine_args"] | ({"default_chat_template_kwargs": variables} if variables else {})
    }


def served_judges(config: Config) -> list[str]:
    """The judges of the study whose jobs start a server themselves, one for all benchmarks of a model."""
    if len(own_judges(config)) == len(config.run.benchmarks):
        return []
    judges = {name: config.judges[name] for name in config.run.judges}
    return [name for name, judge in judges.items() if judge.kind == "llm" and judge.served]


def hub_models(config: Config) -> list[str]:
    """The models whose weights are on the hub: those that answer, and those that label jobs serve as judges."""
    judges = [config.judges[name].served for name in served_judges(config)]
    return [name for name in dict.fromkeys([*config.run.models, *judges]) if config.models[name].kind == "id"]


def _tolerance(config: Config, judge: AnyJudge, benchmark: str | None) -> dict[str, Any]:
    tolerance = config.benchmarks[benchmark].tolerance if benchmark and getattr(judge, "TOLERANT", False) else None
    return {"tolerance": tolerance.model_dump(exclude_defaults=True)} if tolerance else {}


def server_settings(config: Config) -> dict[str, dict[str, Any]]:
    """Addresses and limits of the servers of models and judges, by their keys in the config.

    No result depends on them.
    """
    models = {
        f"models.{name}.api": model.api.model_dump(exclude={"model"}) | {"ledger": ledger(config, f"models.{name}")}
        for name, model in config.models.items()
        if model.kind == "api"
    }
    judges = {
        f"judges.{name}": judge.model_dump(exclude={"kind", "served", *judge.ASKED})
        | {"ledger": ledger(config, f"judges.{name}")}
        for name, judge in config.judges.items()
        if judge.kind == "llm"
    }
    return models | judges


def paid_judges(config: Config) -> dict[str, list[str]]:
    """The judges behind servers that the study asks: what they cost is told.

    For each, the judges that are run and ask it: itself, and those that it is a part of.
    """
    asking: dict[str, list[str]] = {}
    for run in config.run.judges:
        for name in dict.fromkeys(one for benchmark in config.run.benchmarks for one in config.asked(run, benchmark)):
            if config.judges[name].kind == "llm":
                asking.setdefault(name, []).append(run)
    return asking


def own_judges(config: Config) -> dict[str, str]:
    """The benchmarks that are run with a judge of their own, and its name: no other judge labels them."""
    own = {name: config.benchmarks[name].judge for name in config.run.benchmarks}
    return {name: judge for name, judge in own.items() if judge is not None}


def ledger(config: Config, server: str) -> str:
    """The file of what the study's calls to a server have cost; `server` is `models.NAME` or `judges.NAME`."""
    return Layout(config.study).spending.format(server=server)


def estimation_seed(config: Config) -> int:
    """The seed of all that estimation draws: the split, folds, forests, MLPs."""
    return config.seed if config.estimation.seed is None else config.estimation.seed


def split_settings(config: Config) -> dict[str, Any]:
    """What the split of a benchmark's items depends on."""
    return {"test_share": config.estimation.test_share, "seed": estimation_seed(config)}


def estimation_settings(config: Config, estimators: Iterable[str]) -> dict[str, Any]:
    """What the estimates of a training group depend on, the observations aside."""
    return {
        "estimators": list(estimators),
        "seed": estimation_seed(config),
        **config.estimation.model_dump(
            exclude={"default", "seed", "test_share", "groups_per_job", "estimators", "keep"}
        ),
    }
