"""The labels of a judge: the settings they depend on, which judge labels which benchmark, and who serves it."""

from itertools import product
from typing import Any, cast

from entropy_sentinel.judges.judge_base import JudgeSettings
from entropy_sentinel.judges.judge_registry import list_members
from entropy_sentinel.llm_client.server_settings import ServedSettings
from entropy_sentinel.study.config.generation_requests import served_settings
from entropy_sentinel.study.config.study_config import Config


def judge_settings(config: Config, judge: str, benchmark: str | None = None) -> JudgeSettings:
    """The settings that a judge's labels depend on; of the benchmark's own judge, if it has one.

    They include the benchmark's tolerance if the judge compares numbers. For a judge that combines others, `members`
    has their settings. For a benchmark's own judge, `replaces` is the judge whose labels its labels replace.
    """
    name = config.find_judge(judge, benchmark)
    settings = _build_judge_settings(config, name, benchmark)
    if name != judge:
        settings["replaces"] = judge
    return settings


def _build_judge_settings(config: Config, judge: str, benchmark: str | None) -> JudgeSettings:
    """The settings that a judge's labels depend on; `members` has those of the judges that it combines."""
    settings = config.judges[judge]
    server = _build_server_settings(config, settings.served_by) if settings.served_by else None
    tracked = settings.tracked(config.judge_prompts, server)
    job = cast(JudgeSettings, {"version": settings.VERSION, "judge": judge, **tracked})
    tolerance = config.benchmarks[benchmark].tolerance if benchmark and settings.TOLERANT else None
    if tolerance:
        job["tolerance"] = tolerance.model_dump(exclude_defaults=True)
    member_settings = {name: _build_judge_settings(config, name, benchmark) for name in list_members(settings)}
    if member_settings:
        job["members"] = member_settings
    return job


def _build_server_settings(config: Config, model: str) -> ServedSettings:
    """The settings of a model that serves as a judge, for `study.engines.vllm_server.run_server`."""
    settings = served_settings(config, model)
    server: dict[str, Any] = {key: dict(settings)[key] for key in ServedSettings.__annotations__}
    if variables := settings["chat_template_kwargs"]:
        server["engine_args"] = server["engine_args"] | {"default_chat_template_kwargs": variables}
    return cast(ServedSettings, server)


def list_labels_files(config: Config, judge: str, model: str, benchmark: str) -> list[str]:
    """The paths of imported labels that a judge, or one that it combines, uses."""
    files = []
    for name in config.basic_judges(judge, benchmark):
        file = config.judges[name].file(model, benchmark)
        if file is not None and config.has_labels_files(name, benchmark):
            files.append(file)
    return files


def list_served_judges(config: Config) -> list[str]:
    """The study's judges whose jobs start a server, one for all benchmarks of a model."""
    # If each benchmark has its own judge, those of run.judges label nothing.
    if len(find_benchmark_judges(config)) == len(config.run.benchmarks):
        return []
    return [name for name in config.run.judges if config.judges[name].served_by]


def find_benchmark_judges(config: Config) -> dict[str, str]:
    """The benchmarks that are run with their own judge, by name; no other judge labels them."""
    judges = {}
    for name in config.run.benchmarks:
        judge = config.benchmarks[name].judge
        if judge is not None:
            judges[name] = judge
    return judges


def find_paid_judges(config: Config) -> dict[str, list[str]]:
    """The judges behind servers, whose calls are paid, each with the judges of `run.judges` that are or combine it."""
    users_by_judge: dict[str, list[str]] = {}  # the judges of run.judges by paid judge
    if not config.reads_labels:
        return users_by_judge
    for judge, benchmark in product(config.run.judges, config.run.benchmarks):
        for name in config.basic_judges(judge, benchmark):
            if config.judges[name].HAS_LEDGER and judge not in users_by_judge.setdefault(name, []):
                users_by_judge[name].append(judge)
    return users_by_judge


def list_hub_models(config: Config) -> list[str]:
    """The models with weights on the hub: those that answer, and those that serve as judges."""
    judge_models = [config.judges[name].served_by for name in list_served_judges(config)]
    names = dict.fromkeys([*config.run.models, *filter(None, judge_models)])
    return [name for name in names if config.models[name].ON_HUB]
