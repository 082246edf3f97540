"""How much work a job does, for the shares that the terminal shows."""

from collections.abc import Mapping, Sequence

from entropy_sentinel.config.layout import Layout
from entropy_sentinel.config.sections import Config
from entropy_sentinel.frames.errors import DamagedFileError
from entropy_sentinel.jobs.terminal import Amount

_RESPONSES = ("generation", "label", "feature")


class Work:
    """Amounts by rule and wildcards, once the items of the study's benchmarks are there."""

    def __init__(
        self, config: Config, groups: Mapping[str, Sequence[str]], batches: Mapping[str, Sequence[str]]
    ) -> None:
        """`groups` has the estimators of every training group, by the name of its files.

        `batches` is `config.batches.estimate_batches`: the groups of a job, by its rule.
        """
        self._batches = batches
        self._items, self._samples = Layout(config.study).items, config.samples_of
        self._benchmarks, self._groups = config.run.benchmarks, groups

    def __call__(self, rule: str, wildcards: Mapping[str, str]) -> Amount | None:
        """Items, responses or estimates of one job; None where they are not counted, or cannot be."""
        if groups := self._batches.get(rule):
            estimators = sum(len(self._groups[group.format(**wildcards)]) for group in groups)
            return estimators * len(self._benchmarks), "estimates"
        if rule == "benchmark":
            return self._of_items([wildcards["benchmark"]], 1, "items")
        if rule in _RESPONSES or rule.startswith("pass_"):
            return self._of_items([wildcards["benchmark"]], self._samples(wildcards["model"]), "responses")
        if rule == "label_served":
            return self._of_items(self._benchmarks, self._samples(wildcards["model"]), "responses")
        return None

    def _of_items(self, benchmarks: Sequence[str], times: int, unit: str) -> Amount | None:
        from entropy_sentinel.frames.contract import count_rows  # brings polars, which planning does not need

        try:
            items = sum(count_rows(self._items.format(benchmark=benchmark)) for benchmark in benchmarks)
        except DamagedFileError:
            return None
        return items * times, unit
