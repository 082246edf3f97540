"""Which training groups one job estimates: `estimation.groups_per_job` of them."""

from entropy_sentinel.config.sections import Config
from entropy_sentinel.config.study import group_files
from entropy_sentinel.estimators.settings import group_file


def estimate_batches(config: Config) -> dict[str, list[str]]:
    """The files' names of the training groups that one job estimates, by its rule: named groups apart from the others.

    Where a group is a job of its own there is one rule, for the wildcard `{group}`.
    """
    named = list(dict.fromkeys(group_file(config.groups[name].group_id) for name in config.run.groups))
    others = [file for file in group_files(config) if file not in named]
    return _batches(config, "estimate", "{group}", named, others)


def estimator_batches(config: Config) -> dict[str, list[str]]:
    """The named groups whose estimators one job keeps, by its rule; or the wildcard `{name}`."""
    return _batches(config, "estimator", "{name}", config.run.groups)


def _batches(config: Config, rule: str, wildcard: str, *parts: list[str]) -> dict[str, list[str]]:
    size = config.estimation.groups_per_job
    if size == 1:
        return {rule: [wildcard]}
    batches = [part[start : start + size] for part in parts for start in range(0, len(part), size)]
    return {f"{rule}_{number}": batch for number, batch in enumerate(batches)}
