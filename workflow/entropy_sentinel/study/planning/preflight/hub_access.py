"""Weights and data sets of the hub that a run would download: their licences are accepted, or they are in the cache."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from entropy_sentinel.study.planning.preflight.pending_work import PendingWork
from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, ProblemCode, Severity

if TYPE_CHECKING:
    from entropy_sentinel.hub.hub_files import Access

# Seconds for all answers of the hub together; a machine without internet may not even refuse a connection.
PATIENCE_S = 5.0


class HubFiles(NamedTuple):
    """Weights or a data set on the hub."""

    kind: Literal["model", "dataset"]
    repo_id: str
    revision: str | None


def find_missing_access(work: PendingWork) -> Iterator[Problem]:
    """Yield a problem for each model and data set of the pending work that cannot be had from the hub.

    Each takes one request, all at the same time. What the study has already found on the hub takes none.
    """
    needed = _list_needed_files(work)
    unknown = [*needed]
    # An environment that only plans may lack the hub's package; its import takes a third of a second.
    if needed and _has_hub():
        from entropy_sentinel.hub.hub_files import Access, check_access, locate_commit_record

        revisions = f"{work.config.layout.results}/revisions"
        for key, files in [*needed.items()]:
            if locate_commit_record(files.kind, files.repo_id, revisions).is_file():
                del needed[key]
        answers = _ask_hub(needed, check_access)
        unknown = [key for key in needed if answers.get(key, Access.UNKNOWN) is Access.UNKNOWN]
        for key, answer in answers.items():
            yield from _describe_answer(key, needed[key], answer)
    if unknown:
        yield Problem(
            ProblemCode.HUB_NOT_CHECKED,
            Severity.WARNING,
            "",
            f"access to the Hugging Face hub is not checked for {', '.join(unknown)}, because the hub does not answer",
            "If jobs have no internet either, run `snakemake prefetch` where there is, and set HF_HUB_OFFLINE=1.",
        )


def _has_hub() -> bool:
    """Whether the hub's package is installed."""
    try:
        import entropy_sentinel.hub.hub_files  # noqa: F401
    except ImportError:
        return False
    return True


def _list_needed_files(work: PendingWork) -> dict[str, HubFiles]:
    """The files of the hub by the key of the config that names them, such as `models.qwen3-4b`."""
    config, needed = work.config, dict[str, HubFiles]()
    for name in work.models:
        model = config.models[name]
        if model.ON_HUB:
            settings = model.engine_settings()
            needed[f"models.{name}"] = HubFiles("model", settings["weights"], settings["revision"])
    for name, section in work.comparing_families.items():
        if section.weights:
            needed[f"signals.{name}"] = HubFiles("model", section.weights, section.revision)
    for name in work.benchmarks:
        benchmark = config.benchmarks[name]
        if benchmark.dataset:
            needed[f"benchmarks.{name}"] = HubFiles("dataset", benchmark.dataset, benchmark.revision)
    return needed


def _ask_hub(needed: Mapping[str, HubFiles], check_access: Callable[..., "Access"]) -> dict[str, "Access"]:
    """The answers that come within PATIENCE_S, by key; `check_access` asks the hub about one repository."""
    answers: dict[str, Access] = {}

    def ask(key: str, files: HubFiles) -> None:
        answers[key] = check_access(*files)

    # Daemons, because the end of this process must not wait for a silent network.
    threads = [threading.Thread(target=ask, args=item, daemon=True) for item in needed.items()]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + PATIENCE_S
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    return {key: answers[key] for key in needed if key in answers}  # a copy: late threads still add answers


def _describe_answer(key: str, files: HubFiles, answer: "Access") -> Iterator[Problem]:
    """Yield the problem in the hub's answer about `files`, which the config's `key` names; none if they can be had."""
    from entropy_sentinel.hub.hub_files import Access, format_page_url

    page = format_page_url(files.kind, files.repo_id)
    repository = f"{files.kind} {files.repo_id}"
    if answer is Access.GATED:
        message = f"{repository} is gated, and this account has no access"
        remedy = f"Accept its licence at {page}, and run `export HF_TOKEN=...` in the shell that starts Snakemake."
        yield Problem(ProblemCode.NO_ACCESS, Severity.ERROR, key, message, remedy)
    elif answer is Access.ABSENT:
        message = f"{repository} does not exist on the hub, or is private"
        yield Problem(ProblemCode.NO_ACCESS, Severity.ERROR, key, message, f"See {page}; a private one needs HF_TOKEN.")
    elif answer is Access.NOT_CACHED:
        message = f"{repository} is not completely in the cache, and HF_HUB_OFFLINE is set"
        remedy = "Run `snakemake prefetch` on a machine with internet and the same HF_HOME."
        yield Problem(ProblemCode.NOT_CACHED, Severity.ERROR, key, message, remedy)
