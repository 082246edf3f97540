"""The whole configuration: all sections combined, and checks of the names that they use of each other."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, PrivateAttr, create_model, model_validator

from entropy_sentinel.core.analysis import Analysis, load_sections
from entropy_sentinel.core.section_base import DISTINCT, Name, Positive, Seed, Settings, Text, check_names
from entropy_sentinel.estimators.estimator_registry import extra_signals
from entropy_sentinel.estimators.estimator_settings import OWN, Estimation, Group
from entropy_sentinel.judges.judge_registry import PROMPTS as JUDGE_PROMPTS
from entropy_sentinel.judges.judge_registry import AnyJudge, list_basic_judges
from entropy_sentinel.llm_client.server_settings import PLACEHOLDERS, Prompt, check_placeholders
from entropy_sentinel.signal_families.signal_registry import FAMILIES, FAMILY_OF
from entropy_sentinel.study.config.run_section import Run, check_asking, extend_models, find_asking_obstacle
from entropy_sentinel.study.config.study_paths import STAGE_FOLDERS, StudyLayout
from entropy_sentinel.study.engines.engine_registry import PROMPTS as GENERATION_PROMPTS
from entropy_sentinel.study.engines.engine_registry import AnyModel
from entropy_sentinel.study.engines.generation_section import Generation, Rates
from entropy_sentinel.study.items.benchmark_settings import Benchmark

SECTIONS = load_sections()
_FIELDS: dict[str, Any] = {name: (section, section()) for name, section in SECTIONS.items()}
Analyses = create_model(
    "Analyses",
    __base__=Settings,
    __doc__="A section for each analysis, of the package, of `papers/` or of an extension. The reference lists the "
    "keys of analyses that config.yaml leaves out.",
    **_FIELDS,
)
_FAMILIES: dict[str, Any] = {
    name: (family.settings, family.settings()) for name, family in FAMILIES.items() if family.settings
}
FamilySettings = create_model(
    "FamilySettings",
    __base__=Settings,
    __doc__="A section for each family of signals that has settings, of the package, of `papers/` or of an extension. "
    "The reference lists the keys of families that config.yaml leaves out.",
    **_FAMILIES,
)


class Config(Settings):
    """The whole configuration."""

    ELSEWHERE: ClassVar[Mapping[str, str]] = {
        "presentation": "is now the section analyses.accuracy; its label is labels there, by study: {my-study: text}",
    }

    study: Name = Field(
        description="the study's name: results go to results/<study>/, logs to logs/<study>/; letters, digits, '.', "
        "'_' and '-'"
    )
    seed: Seed = Field(
        42,
        description="seed of token sampling and of limits, and of the estimation unless estimation.seed "
        "is set; a change regenerates everything",
    )
    limit: Positive | None = Field(
        None,
        description="items per benchmark, drawn by a hash of seed and item id, so that a smaller limit is a subset of "
        "a larger one; null for all. On a new machine, start with 5",
    )
    after: Text | None = Field(
        None,
        description="shell command to run when a run of the study ends, for example to send the results to a tracker; "
        "its environment has RESULTS (the folder of the results) and OUTCOME (success or failure)",
    )
    extensions: Annotated[list[Text], DISTINCT] = Field(
        [],
        description="your own analyses, signals, estimators, judges, models and so on: folders with an __init__.py, "
        "relative to the working folder, or names of installed modules (CONTRIBUTING.md). Installed packages with "
        "an entry point `entropy_sentinel` need no entry",
    )
    run: Run
    generation: Generation = Generation()
    estimation: Estimation = Estimation()
    signals: FamilySettings = FamilySettings()
    analyses: Analyses = Analyses()
    rates: Rates = Rates()
    models: dict[Name, AnyModel] = Field(
        description="models by name: what is loaded or asked, and how. A null key counts as not set, so a "
        "further file can take `id` back and set `api`"
    )
    benchmarks: dict[Name, Benchmark] = Field(
        description="benchmarks by name: the sources of questions and, if there are any, of references"
    )
    judges: dict[Name, AnyJudge] = Field(description="judges that label responses, by name")
    groups: dict[Name, Group] = Field({}, description="named training groups")
    prompts: dict[Name, Prompt] = Field(
        {},
        description="prompts for models and judges, by name, besides those of the catalogues. Placeholders: "
        "{question} for models; {response}, {reference} and optionally {question} for judges. Changing a text "
        "reruns the generation or judging that uses it",
    )

    _left_out: list[str] = PrivateAttr(default_factory=list)
    # The folders below which results and logs are, which another workflow may set.
    _roots: tuple[str, str] = PrivateAttr(("results/", "logs/"))

    @property
    def layout(self) -> StudyLayout:
        """The paths of the study's files."""
        return StudyLayout(self.study, *self._roots)

    @property
    def left_out(self) -> list[str]:
        """A line for each part of the config files that this study cannot run."""
        return self._left_out

    @property
    def enabled_analyses(self) -> dict[str, Analysis]:
        """The sections of the analyses that are run, by name."""
        return {name: getattr(self.analyses, name) for name in self.run.analyses}

    @property
    def reads_labels(self) -> bool:
        """Whether any analysis that is run reads labels; otherwise no judge is asked."""
        return bool(self.run.groups) or any(section.READS_LABELS for section in self.enabled_analyses.values())

    @property
    def labelled_benchmarks(self) -> list[str]:
        """The benchmarks that are run and get labels: training groups use them, and they have a true accuracy.

        These are the benchmarks with references, and those whose labels are all imported from files.
        """
        return [
            name for name in self.run.benchmarks if self.benchmarks[name].reference or self._has_imported_labels(name)
        ]

    def _has_imported_labels(self, benchmark: str) -> bool:
        """Whether all judges of run.judges import their labels of a benchmark, which then needs no references."""
        for judge in self.run.judges:
            if not all(self.has_labels_files(name, benchmark) for name in self.basic_judges(judge, benchmark)):
                return False
        return True

    def has_labels_files(self, judge: str, benchmark: str) -> bool:
        """Whether a judge has imported labels (kind `file`) for a benchmark, and must have a file for each model.

        It may have no file for a benchmark without references, which is then unlabelled, unless the benchmark names a
        judge of its own.
        """
        settings, section = self.judges[judge], self.benchmarks[benchmark]
        if not settings.IMPORTED:
            return False
        if section.reference or section.judge:
            return True
        files = [settings.file(model, benchmark) for model in self.run.models]
        return any(file is not None and Path(file).is_file() for file in files)

    def find_judge(self, judge: str, benchmark: str | None) -> str:
        """The judge that labels a benchmark if `judge` is run: the benchmark's own judge, if it has one."""
        benchmark_judge = self.benchmarks[benchmark].judge if benchmark else None
        return benchmark_judge or judge

    def basic_judges(self, judge: str, benchmark: str) -> list[str]:
        """The judges that label a benchmark if `judge` is run; instead of a combined judge, those that it combines."""
        return list_basic_judges(self.find_judge(judge, benchmark), self.judges)

    @property
    def generation_prompts(self) -> dict[str, Prompt]:
        """The possible prompts of models, by name."""
        return GENERATION_PROMPTS | self.prompts

    def find_prompt_name(self, model: str) -> str:
        """The name of a model's prompt."""
        return self.models[model].prompt or self.generation.prompt

    def count_samples(self, model: str) -> int:
        """The number of a model's responses per item."""
        return self.models[model].samples or self.generation.samples

    @property
    def judge_prompts(self) -> dict[str, Prompt]:
        """The possible prompts of judges, by name."""
        return JUDGE_PROMPTS | self.prompts

    @model_validator(mode="before")
    @classmethod
    def _write_out_variants(cls, data: Any) -> Any:
        """Give each model of the raw config the keys of the model that it extends; other types are refused later."""
        if isinstance(data, Mapping) and isinstance(data.get("models"), Mapping):
            return {**data, "models": extend_models(data["models"])}
        return data

    @model_validator(mode="after")
    def _check_prompts(self) -> "Config":
        """Check the prompts of the config, and the names and placeholders of those that models and judges use."""
        self._check_prompt_placeholders()
        check_names("prompt in generation.prompt:", [self.generation.prompt], self.generation_prompts)
        self._check_model_prompts()
        self._check_judge_prompts()
        return self

    def _check_prompt_placeholders(self) -> None:
        """Check that no prompt has the name of a built-in one, and that all placeholders get a value."""
        variables = (name for model in self.models.values() for name in model.prompt_variables)
        placeholders = [f"{{{name}}}" for name in dict.fromkeys([*PLACEHOLDERS, *variables])]
        for name, prompt in self.prompts.items():
            if name in {**GENERATION_PROMPTS, **JUDGE_PROMPTS}:
                raise ValueError(f"prompts.{name}: a built-in prompt has this name; choose another")
            for placeholder in prompt.placeholders:
                if f"{{{placeholder}}}" not in placeholders:
                    raise ValueError(
                        f"prompts.{name}: unknown placeholder '{{{placeholder}}}'; known: {', '.join(placeholders)}; "
                        "others get a value in models.<name>.prompt_variables"
                    )

    def _check_model_prompts(self) -> None:
        """Check that each model's prompt exists, has its placeholders and works with the model's chat template."""
        for model, settings in self.models.items():
            key = f"models.{model}.prompt" if settings.prompt else "generation.prompt"
            name = self.find_prompt_name(model)
            check_names(f"prompt in {key}:", [name], self.generation_prompts)
            if settings.ENGINE:
                prompt = self.generation_prompts[name]
                check_placeholders(f"{key}: prompt '{name}'", prompt, ["question", *settings.prompt_variables])
                if prompt.text is not None and settings.chat_template_kwargs and model in self.run.models:
                    raise ValueError(
                        f"models.{model}.chat_template_kwargs: prompt '{name}' is plain text; no chat template "
                        "applies; set it to null, or give the prompt a 'user' message"
                    )

    def _check_judge_prompts(self) -> None:
        """Check the served model of each judge, and that its prompt exists and has a response and a reference."""
        for judge, section in self.judges.items():
            self._check_served_model(f"judges.{judge}.served", section.served_by)
            if section.asks_with is not None:
                key, name = f"judges.{judge}.prompt", section.asks_with
                check_names(f"prompt in {key}:", [name], self.judge_prompts)
                prompt = self.judge_prompts[name]
                if prompt.text is not None:
                    raise ValueError(f"{key}: prompt '{name}' is plain text; a judge needs one with a 'user' message")
                check_placeholders(f"{key}: prompt '{name}'", prompt, ["response", "reference"], ["question"])

    def _check_served_model(self, key: str, name: str | None) -> None:
        """Check that the model `name`, which serves as a judge, has fixed weights, so that labels are reproducible."""
        if name is None:
            return
        check_names(f"model in {key}:", [name], self.models)
        model = self.models[name]
        if not model.LOADS_WEIGHTS:
            raise ValueError(f"{key}: models.{name} must have 'id' or 'path' to be served, has '{model.kind}'")
        if not model.has_fixed_weights:
            raise ValueError(f"{key}: models.{name} must have a 'revision', the commit of its weights")

    def _refuse_served_judges(self, key: str, names: list[str]) -> None:
        """Refuse judges with the setting `served` under `key`: only these judges' own jobs start their server."""
        for name in names:
            if self.judges[name].served_by:
                raise ValueError(
                    f"{key}: '{name}' has 'served', and only its own jobs start its server; start "
                    "one with `entropy-sentinel serve`, and give the judge 'model' and 'base_url' instead"
                )

    @model_validator(mode="after")
    def _check_requery_models(self) -> "Config":
        """Check that each family which asks again about responses can ask the study's models, or their `same_as`."""
        if self.run.asking_families:
            for name in self.run.models:
                check_names(f"model in models.{name}.same_as:", [self.models[name].same_as or name], self.models)
        for family in self.run.asking_families:
            check_asking(self.models, self.run.models, family, self._plain_text_models)
        return self

    @property
    def _plain_text_models(self) -> list[str]:
        """The models whose prompts are plain text, without a chat template, so that their token ids are known."""
        return [name for name in self.models if self.generation_prompts[self.find_prompt_name(name)].text is not None]

    def explain_unaskable(self, family: str, model: str) -> str | None:
        """Why a family of signals cannot run its second pass of the model over its responses.

        None if it can, or if the pass is imported.
        """
        obstacle = find_asking_obstacle(self.models, model, family, self._plain_text_models)
        return obstacle.reason if obstacle else None

    def find_requery_model(self, family: str, model: str) -> str | None:
        """The model that a family asks about the responses of `model`: itself, or the one that it names.

        Returns None if no model can be asked, or the pass is imported.
        """
        settings = self.models[model]
        has_imported_pass = settings.given_passes(family) is not None
        if has_imported_pass or self.explain_unaskable(family, model) is not None:
            return None
        return settings.same_as or model

    @model_validator(mode="after")
    def _check_signals(self) -> "Config":
        """Check that the study has the signals that its estimators need."""
        for name in self.estimation.estimators:
            self._check_estimator_signals("estimators", name)
        for name in self.estimation.keep:
            if name != OWN:  # OWN stands for the group's own estimator, which is in `estimators`
                self._check_estimator_signals("keep", name)
        return self

    def _check_estimator_signals(self, key: str, estimator: str) -> None:
        """Check that the study has the signals that an estimator under estimation.`key` needs besides the features."""
        for signal in extra_signals(estimator):
            family = FAMILY_OF[signal]
            if family not in self.run.features:
                raise ValueError(
                    f"estimation.{key}: '{estimator}' needs the signal '{signal}' of the family '{family}', which "
                    "run.features does not name; add it there, or leave the estimator out"
                )

    @model_validator(mode="after")
    def _check_titles(self) -> "Config":
        """Refuse a title that two models, or two benchmarks, are displayed with."""
        for axis in ("models", "benchmarks"):
            sections = getattr(self, axis)
            name_by_title: dict[str, str] = {}
            for name in getattr(self.run, axis):
                # A name without a section is refused in `_check_names`.
                section = sections.get(name)
                title = (section.title if section else None) or name
                if name_by_title.setdefault(title, name) != name:
                    raise ValueError(
                        f"{axis}.{name}.title: '{title}' is displayed for {axis}.{name_by_title[title]} as well"
                    )
        return self

    @model_validator(mode="after")
    def _check_names(self) -> "Config":
        """Refuse names that the config does not define, groups without labels, and judges whose server would not run.

        These are judges with `served` that a combined judge or a benchmark uses.
        """
        for axis in ("models", "benchmarks", "judges", "groups", "analyses"):
            names = Analyses.model_fields if axis == "analyses" else getattr(self, axis)
            check_names(f"name in run.{axis}:", getattr(self.run, axis), names)
        # A judge's results go to a folder of its name.
        folders = [*STAGE_FOLDERS, *(section.folder() for section in SECTIONS.values())]
        for name in self.judges:
            if name in folders:
                raise ValueError(f"judges.{name}: the study already has a folder '{name}'; choose another name")
            members = [part for part in list_basic_judges(name, self.judges) if part != name]
            self._refuse_served_judges(f"judges.{name}.judges", members)
        for name, benchmark in self.benchmarks.items():
            if benchmark.judge is not None:
                check_names(f"judge in benchmarks.{name}.judge:", [benchmark.judge], self.judges)
                basic_judges = list_basic_judges(benchmark.judge, self.judges)
                self._refuse_served_judges(f"benchmarks.{name}.judge", basic_judges)
        for name, group in self.groups.items():
            check_names(f"benchmark in groups.{name}:", group.benchmarks, self.benchmarks)
        for name in self.run.groups:
            for training_benchmark in self.groups[name].benchmarks:
                if training_benchmark in self.run.benchmarks and training_benchmark not in self.labelled_benchmarks:
                    raise ValueError(
                        f"groups.{name}: benchmark '{training_benchmark}' has no references and no imported labels to "
                        f"train on; set benchmarks.{training_benchmark}.reference, or leave it out"
                    )
        return self
