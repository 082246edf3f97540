"""How much work a job does, for the shares that the terminal shows."""

from collections.abc import Mapping, Sequence

from entropy_sentinel.config.config import Config
from entropy_sentinel.config.layout import Layout
from entropy_sentinel.jobs.terminal import Amount

_RESPONSES = ("generation", "label", "feature")


class Work:
    """Amounts by rule and wildcards, once the items of the study's benchmarks are there."""

    def __init__(self, config: Config, groups: Mapping[str, Sequence[str]]) -> None:
        """`groups` is `config.study.training_groups`: the estimators of every training group."""
        self._items, self._samples = Layout(config.study).items, config.generation.samples
        self._benchmarks, self._groups = len(config.run.benchmarks), groups

    def __call__(self, rule: str, wildcards: Mapping[str, str]) -> Amount | None:
        """Items, responses or estimates of one job; None for a rule whose work is not counted."""
        if rule == "benchmark":
            return self._rows(wildcards["benchmark"]), "items"
        if rule in _RESPONSES:
            return self._rows(wildcards["benchmark"]) * self._samples, "responses"
        if rule == "estimate":
            return len(self._groups[wildcards["group"]]) * self._benchmarks, "estimates"
        return None

    def _rows(self, benchmark: str) -> int:
        import polars as pl  # not needed to plan a run

        return pl.scan_parquet(self._items.format(benchmark=benchmark)).select(pl.len()).collect().item()
