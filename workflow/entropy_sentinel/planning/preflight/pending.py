"""The work that a run still has to do: keys, weights and GPUs are needed only for this."""

from collections.abc import Set
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from entropy_sentinel.config.sections import Config


@dataclass(frozen=True)
class PendingWork:
    """A study, and the files that a run of it would make."""

    config: Config
    files: Set[Path]

    @classmethod
    def of_absent_files(cls, config: Config) -> "PendingWork":
        """Return the work whose files do not exist: less than a run finds, but at once."""
        layout, run = config.layout, config.run
        files = {Path(layout.items.format(benchmark=name)) for name in run.benchmarks}
        for model, benchmark in product(run.models, run.benchmarks):
            names = {"model": model, "benchmark": benchmark}
            files.add(Path(layout.generations.format(**names)))
            files.update(Path(layout.passes.format(family=name, **names)) for name in run.asking_families)
            files.update(Path(layout.labels.format(judge=name, **names)) for name in run.judges)
        return cls(config, {file for file in files if not file.exists()})

    def _is_pending(self, template: str, **names: str) -> bool:
        return Path(template.format(**names)) in self.files

    @property
    def benchmarks(self) -> list[str]:
        """Benchmarks whose items are to be read."""
        template = self.config.layout.items
        return [name for name in self.config.run.benchmarks if self._is_pending(template, benchmark=name)]

    @property
    def models(self) -> list[str]:
        """Models that are to generate, are asked again, or serve as judges."""
        config, run, layout = self.config, self.config.run, self.config.layout
        needed: dict[str, None] = {}
        for model, benchmark in product(run.models, run.benchmarks):
            names = {"model": model, "benchmark": benchmark}
            if config.models[model].ENGINE and self._is_pending(layout.generations, **names):
                needed[model] = None
            for family in run.asking_families:
                asked = config.asked_again(family, model)
                if asked and self._is_pending(layout.passes, family=family, **names):
                    needed[asked] = None
        serving = (config.judges[judge].served_by for judge in self.judges)
        return list(needed | dict.fromkeys(filter(None, serving)))

    @property
    def judges(self) -> list[str]:
        """Judges that are to label responses, including those that another judge combines."""
        config, run = self.config, self.config.run
        if not config.reads_labels:
            return []
        template, needed = config.layout.labels, dict[str, None]()
        for judge, benchmark in product(run.judges, run.benchmarks):
            if not config.benchmarks[benchmark].reference:
                continue  # its labels are null, without a judge
            if any(self._is_pending(template, judge=judge, model=model, benchmark=benchmark) for model in run.models):
                needed |= dict.fromkeys(config.basic_judges(judge, benchmark))
        return list(needed)
