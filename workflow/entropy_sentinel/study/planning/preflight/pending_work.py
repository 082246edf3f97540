"""The work that a run still has to do: keys, weights and GPUs are needed only for this."""

from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from entropy_sentinel.study.config.generation_requests import select_comparing_families
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.jobs.result_reuse import has_store, list_sibling_files
from entropy_sentinel.study.semantic_clustering.backend_settings import TextModel


@dataclass(frozen=True)
class PendingWork:
    """A study, the files that a run of it would make, and the responses that it copies from other studies.

    `reusable` has their pairs (model, benchmark).
    """

    config: Config
    files: Set[Path]
    reusable: Set[tuple[str, str]] = frozenset()

    @classmethod
    def from_absent_files(cls, config: Config, reusable: Set[tuple[str, str]] = frozenset()) -> "PendingWork":
        """The work whose files do not exist, found faster than by Snakemake's plan, which also has outdated files.

        `reusable` has the pairs (model, benchmark) whose responses are copied.
        """
        layout, run = config.layout, config.run
        files = {Path(layout.items.format(benchmark=name)) for name in run.benchmarks}
        for model, benchmark in product(run.models, run.benchmarks):
            names = {"model": model, "benchmark": benchmark}
            files.add(Path(layout.generations.format(**names)))
            # Families of signals that ask the model again, about its responses.
            files.update(Path(layout.passes.format(family=name, **names)) for name in run.asking_families)
            files.update(Path(layout.labels.format(judge=name, **names)) for name in run.judges)
        return cls(config, {file for file in files if not file.exists()}, reusable)

    def _is_pending(self, template: str, **names: str) -> bool:
        return Path(template.format(**names)) in self.files

    @property
    def benchmarks(self) -> list[str]:
        """Benchmarks whose items are to be read."""
        template = self.config.layout.items
        return [name for name in self.config.run.benchmarks if self._is_pending(template, benchmark=name)]

    @cached_property
    def generations(self) -> list[tuple[str, str]]:
        """The pairs (model, benchmark) whose responses an engine or server is asked for."""
        config, template = self.config, self.config.layout.generations
        pairs = []
        for model, benchmark in self._pairs:
            # Imported traces have no engine.
            is_asked = config.models[model].ENGINE and (model, benchmark) not in self.reusable
            if is_asked and self._is_pending(template, model=model, benchmark=benchmark):
                pairs.append((model, benchmark))
        return pairs

    @cached_property
    def new_responses(self) -> set[tuple[str, str]]:
        """The pending pairs (model, benchmark) without a file of responses.

        The other pending ones have an outdated file: if the same responses come again, a judge's replies are cached.
        """
        template = self.config.layout.generations
        return {
            (model, benchmark)
            for model, benchmark in self.generations
            if not Path(template.format(model=model, benchmark=benchmark)).exists()
        }

    @property
    def models(self) -> list[str]:
        """Models that are to generate, are asked again, or serve as judges."""
        config, run = self.config, self.config.run
        needed = dict.fromkeys(model for model, _ in self.generations)
        for family, model, benchmark in product(run.asking_families, run.models, run.benchmarks):
            requery_model = config.find_requery_model(family, model)
            if requery_model and self._is_pending(
                config.layout.passes, family=family, model=model, benchmark=benchmark
            ):
                needed[requery_model] = None
        judge_models = (config.judges[judge].served_by for judge in self.labels)
        return list(needed | dict.fromkeys(filter(None, judge_models)))

    @property
    def comparing_families(self) -> dict[str, TextModel]:
        """Sections of the families of signals that are to compare texts, by name."""
        config = self.config
        template = self.config.layout.signals
        pairs = [*self._pairs]
        return {
            family: section
            for family, section in select_comparing_families(config).items()
            if any(self._is_pending(template, family=family, model=model, benchmark=name) for model, name in pairs)
        }

    @property
    def _pairs(self) -> Iterator[tuple[str, str]]:
        return product(self.config.run.models, self.config.run.benchmarks)

    @cached_property
    def labels(self) -> dict[str, list[tuple[str, str, str]]]:
        """The files to label by the judge that is asked: (judge of the study, model, benchmark) of each file.

        The asked judge may be another than the study's: one that the study's judge combines with others, or that labels
        a single benchmark in its place.
        """
        config, run = self.config, self.config.run
        needed: dict[str, list[tuple[str, str, str]]] = {}
        for judge, model, benchmark in product(run.judges, run.models, run.benchmarks) if config.reads_labels else ():
            # Without a reference, labels are null, and no judge is asked.
            if config.benchmarks[benchmark].reference and self._is_pending(
                config.layout.labels, judge=judge, model=model, benchmark=benchmark
            ):
                for name in config.basic_judges(judge, benchmark):
                    needed.setdefault(name, []).append((judge, model, benchmark))
        return needed

    def may_have_labels(self, judge: str) -> bool:
        """Whether all labels of a judge may be copied from another study or the store.

        They may be if their responses are not new; the jobs compare the content.
        """
        study = Path(self.config.layout.results)
        template = self.config.layout.labels
        for name, model, benchmark in self.labels[judge]:
            file = Path(template.format(judge=name, model=model, benchmark=benchmark))
            if (model, benchmark) in self.new_responses or not (has_store() or any(list_sibling_files(file, study))):
                return False
        return True

    def judges_new_responses(self, judge: str) -> bool:
        """Whether a judge labels responses that do not exist yet, so that no cache can have its replies."""
        return any((model, benchmark) in self.new_responses for _, model, benchmark in self.labels[judge])
