"""Training groups that the settings leave too few rows for the folds of an estimator."""

import math
from collections.abc import Iterator, Mapping

from entropy_sentinel.formatting.text_format import format_count
from entropy_sentinel.study.config.group_estimates import training_groups
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.planning.preflight.preflight_problem import Problem, ProblemCode, Severity
from entropy_sentinel.study.planning.response_cost import count_items


def find_small_groups(config: Config) -> Iterator[Problem]:
    """Yield a problem if training groups have too few items to fit an estimator, whatever their labels are.

    A group, `a+b`, is the benchmarks on which an estimator is fitted. Each fold needs a response of either class.
    Groups with a benchmark of unknown size are not judged.
    """
    groups = training_groups(config)
    if not groups:
        return
    training = _count_training_items(config)
    least = 2 * config.estimation.folds
    samples = min(map(config.count_samples, config.run.models))
    small: dict[str, int] = {}
    for group in groups:
        counts = [training[name] for name in group.split("+")]
        n_rows = samples * sum(filter(None, counts))
        if None not in counts and n_rows < least:
            small[group] = n_rows
    if not small:
        return
    first, n_rows = next(iter(small.items()))
    names = (
        f"the training group {first} has" if len(small) == 1 else f"{len(small)} of {len(groups)} training groups have"
    )
    example = "" if len(small) == 1 else f" ({first}: {n_rows})"
    number = format_count(n_rows, "response") if len(small) == 1 else f"fewer than {least} responses{example}"
    yield Problem(
        ProblemCode.FEW_ROWS,
        Severity.WARNING,
        "estimation.folds",
        f"{names} {number} to train on, and {config.estimation.folds} folds need {least}, "
        f"{config.estimation.folds} of them correct and as many incorrect; estimates will be null",
        "Such a study only tries the machine out. For estimates raise `limit`, or lower estimation.test_share or "
        "estimation.folds.",
    )


def _count_training_items(config: Config) -> Mapping[str, int | None]:
    """The number of training items of each benchmark; None if unknown."""
    counts: dict[str, int | None] = {}
    for name, n_items in count_items(config).items():
        # As statistics/splits.py draws them: the rest is for tests, but at least one item is for training.
        counts[name] = n_items and n_items - min(math.ceil(config.estimation.test_share * n_items), n_items - 1)
    return counts
