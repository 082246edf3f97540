"""The sources of questions: the config's section `benchmarks`."""

import re
import string
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict, get_args

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from entropy_sentinel.core.section_base import DISTINCT, Name, Number, Positive, Revision, Settings, Text

# Suffixes of files with imported traces; the first existing file counts.
SOURCE_SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz", ".json", ".json.gz", ".eval")

_FORMATTER = string.Formatter()

# Suffixes of local files; `.gz` may follow the first two.
FORMATS = (".jsonl", ".csv", ".parquet")
# The braces of a format string: a column, `{column}`, or a part of a column by key or index, `{column[part]}`.
FIELD = re.compile(r"([^\[\].{}]+)((?:\[[^\[\]{}]+\])*)")
# Ways in which a reference can name one of several options.
Reading = Literal["letter", "index", "number", "text"]
READINGS: tuple[Reading, ...] = get_args(Reading)
_AS_LIST = BeforeValidator(
    lambda names: [names] if isinstance(names, str) else names, json_schema_input_type=str | list[str]
)
# The keys of each kind of source; a source in one config file replaces sources in other config files.
_SOURCES = {"path": ("path",), "dataset": ("dataset", "configs", "split", "revision")}


def _check_dataset_id(name: str) -> str:
    if not re.fullmatch(r"[\w.-]{1,96}(/[\w.-]{1,96})?", name):
        raise ValueError("must be a Hugging Face id, owner/name; for a local file use 'path'")
    return name


def _check_local_file(path: str) -> str:
    if not any(suffix in FORMATS for suffix in Path(path).suffixes):
        raise ValueError(f"'{path}' must be a file of type {', '.join(FORMATS)} (or .gz of it)")
    return path


def list_columns(benchmark: "ItemsSettings") -> list[str]:
    """The columns that a benchmark's settings name.

    They name them in the format strings of question, reference and group, and as options, answers, counts of answers,
    and columns that must be empty, such as pictures.
    """
    texts = [*benchmark["question"], *benchmark["reference"], *(benchmark.get("group") or [])]
    fields = []
    for text in texts:
        fields += [name for _, name, _, _ in _FORMATTER.parse(text) if name]
    fields += benchmark.get("options") or []
    fields += _list_names(benchmark.get("answers")) + _list_names(benchmark.get("counts"))
    columns: dict[str, None] = {}  # a set in order
    for match in map(FIELD.fullmatch, fields):
        if match:
            columns[match[1]] = None  # the column alone, of `column[part]`
    return list(columns | dict.fromkeys(benchmark["only_if_empty"]))


def _list_names(names: str | list[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else names or []


def prefer_user_sources(benchmarks: Mapping[str, Any], user_sections: Mapping[str, Any]) -> dict[str, Any]:
    """The merged section `benchmarks`, without the sources that the user's config files replace.

    `user_sections` is the section as these files have it. If they name the other kind of source (a local file, or a
    data set) for a benchmark, it loses the first one. A benchmark for which they name both, even as null, stays.
    """
    return {name: _prefer_user_source(benchmark, user_sections.get(name)) for name, benchmark in benchmarks.items()}


def _prefer_user_source(benchmark: Any, user_section: Any) -> Any:
    """A benchmark without the keys of the kind of source, path or dataset, that the user's section replaces."""
    if not isinstance(user_section, Mapping):
        return benchmark
    sources = [source for source in _SOURCES if source in user_section]
    # With both or neither, or with null, the user has decided, or has not touched the source.
    if len(sources) != 1 or user_section[sources[0]] is None:
        return benchmark
    dropped_keys = set[str]()
    for source, keys in _SOURCES.items():
        if source not in sources:
            dropped_keys.update(keys)
    return {key: value for key, value in benchmark.items() if key in user_section or key not in dropped_keys}


class Tolerance(Settings):
    """How far a number may be from the reference and still count as correct. Set one of the first two keys."""

    relative: Number | None = Field(
        None, gt=0, lt=1, description="largest relative difference from the reference, 0.05 for 5 %"
    )
    significant_digits: Annotated[int, Field(ge=1, le=15)] | Literal["reference"] | None = Field(
        None,
        description="round both numbers to this many significant digits; `reference`: to as many as the reference has",
    )
    whole_numbers: bool = Field(True, description="false: whole-number references must be matched exactly")

    @model_validator(mode="after")
    def _check_measure(self) -> "Tolerance":
        if (self.relative is None) == (self.significant_digits is None):
            raise ValueError("needs exactly one of 'relative' (0.05 for 5 %) and 'significant_digits'")
        return self


class Benchmark(Settings):
    """One benchmark: where its rows are and which columns contain question and reference.

    `question` and `reference` are format strings over the row's columns, `{column}`; the first format string whose
    columns are all filled is used. Without `reference`, no judge labels the benchmark, and no estimator is trained on
    it. `options` are written below the question as `A. text`, and the reference becomes an option's letter, `(A)`.
    """

    # Keys that the items do not depend on.
    IGNORED_KEYS: ClassVar[set[str]] = {"title", "expected_items", "limit", "tolerance", "judge"}
    # Keys added later: a job's settings omit them unless they are set, so that existing files stay valid.
    LATER_KEYS: ClassVar[frozenset[str]] = frozenset(
        ("options", "reference_is", "shuffle_options", "group", "answers", "counts", "only_if_counted")
    )

    title: Text | None = Field(
        None,
        description="name displayed in the paper's tables and figures (analyses.accuracy.style); null for the key",
    )
    dataset: Annotated[str, AfterValidator(_check_dataset_id)] | None = Field(
        None,
        description="Hugging Face id of the data set; a study keeps the commit that it first resolved "
        "(results/<study>/revisions)",
    )
    configs: Annotated[list[Text], DISTINCT] = Field([], description="configurations of the data set, read in sequence")
    split: Text = Field("test", description="split of the data set")
    revision: Revision | None = Field(None, description="commit, tag or branch of the data set")
    path: Annotated[str, AfterValidator(_check_local_file)] | None = Field(
        None,
        description="local file instead of a data set: .jsonl, .csv, .parquet, or .gz of the first two; it unsets "
        "`dataset`, `configs`, `split` and `revision` from other config files",
    )
    question: list[str] = Field(
        min_length=1,
        description="format strings of the question, with columns as `{column}`. If there are several, the "
        "first one whose columns are all filled is used. `{column[0]}` is the first element of a list, "
        "and `{column[name]}` a part of a column; a list is joined with commas",
    )
    reference: list[str] = Field(
        [],
        description="format strings of the reference answer, like `question`. Without it, a benchmark is a "
        "domain without labels: no judge labels it, no estimator is trained on it, and its accuracy is estimated. "
        "Judges of kind file may still supply labels",
    )
    reference_after: Text | None = Field(
        None,
        description="keep only the text after the last occurrence of this mark in the reference; rows "
        "without the mark have no reference",
    )
    options: Annotated[list[Text], Field(min_length=1), DISTINCT, _AS_LIST] | None = Field(
        None,
        description="the column with the list of options of a multiple-choice question, or a list of "
        "columns, one per option. Options are appended to the question as `A. text`, and the reference "
        "becomes a letter, `(A)`",
    )
    reference_is: Reading | None = Field(
        None,
        description="how references name an option: letter, index (from 0), number (from 1) or text; null "
        "detects the way that fits all rows",
    )
    shuffle_options: bool = Field(
        False,
        description="shuffle the options of each item; use this if the first option is always the right one",
    )
    group: list[str] = Field(
        [],
        description="format strings, like `question`, for the kind of question, for example its origin; in the "
        "validation, each kind is a separate domain, and kinds may have their own intervals",
    )
    answers: Text | Annotated[list[Text], Field(min_length=1), DISTINCT] | None = Field(
        None,
        description="the column with the list of right answers, if questions may have several; or a list of "
        "columns, one per answer. An answer is a text, or a list of its names; a list may be JSON text. "
        "Judges read only `reference`",
    )
    counts: Text | None = Field(
        None,
        description="the column with how often each of `answers` is seen, a list of numbers above 0; if it "
        "is empty or not set, all answers are equally likely",
    )
    only_if_counted: bool = Field(
        False, description="drop rows without counts, and rows in which an answer has a count of 0"
    )
    only_if_empty: list[Text] = Field([], description="drop rows in which one of these columns (pictures) is filled")
    judge: Name | None = Field(
        None,
        description="the judge that labels this benchmark instead of the judges in run.judges, by its name in the "
        "section `judges`; its labels also appear under their names. For example, use a judge of kind choice if the "
        "other judges compare numbers",
    )
    tolerance: Tolerance | None = Field(
        None,
        description="how far a number may be from the reference, for judges of kind math-verify; by default, "
        "numbers must agree to six decimals. If you change it, labelling runs again",
    )
    limit: Positive | None = Field(
        None, description="number of items of this benchmark, instead of the study's `limit`"
    )
    expected_items: Positive | None = Field(
        None, description="published number of items; if the number differs, the report warns"
    )

    @field_validator("question", "reference", "group")
    @classmethod
    def _check_formats(cls, templates: list[str]) -> list[str]:
        for template in templates:
            try:
                parts = _FORMATTER.parse(template)
                fields = [(name, spec, conversion) for _, name, spec, conversion in parts if name is not None]
            except ValueError as error:
                raise ValueError(f"'{template}' is not a format string: {error}") from None
            # Without a format (`{column:>5}`) and a conversion (`{column!r}`).
            are_plain = all(FIELD.fullmatch(name) and not spec and not conversion for name, spec, conversion in fields)
            if not fields or not are_plain:
                raise ValueError(f"'{template}' must name columns, each as {{column}}, or parts, as {{column[part]}}")
        return templates

    @field_validator("options", "answers", "counts")
    @classmethod
    def _check_columns(cls, value: list[str] | str | None) -> list[str] | str | None:
        for name in _list_names(value):
            if not FIELD.fullmatch(name):
                raise ValueError(f"'{name}' must be a column, or a part of one such as column[part], without braces")
        return value

    @model_validator(mode="after")
    def _check_source(self) -> "Benchmark":
        if (self.dataset is None) == (self.path is None):
            has = "but has neither" if self.path is None else "but both are set; leave one out"
            raise ValueError(f"needs exactly one of 'dataset' (a Hugging Face id) and 'path' (a local file), {has}")
        if self.revision is not None and self.path is not None:
            raise ValueError("'revision' needs 'dataset'; set 'dataset', or set 'revision' to null")
        if self.options is None and (self.reference_is or self.shuffle_options):
            raise ValueError("'reference_is' and 'shuffle_options' need 'options'; set 'options', or remove these two")
        if self.counts is not None and self.answers is None:
            raise ValueError("'counts' needs 'answers'; set 'answers' to the column with the answers")
        if self.only_if_counted and self.counts is None:
            raise ValueError("'only_if_counted' needs 'counts'; set 'counts', or remove 'only_if_counted'")
        return self


class ItemsSettings(TypedDict):
    """What the items of a benchmark depend on; Snakemake compares these. Keys in `LATER_KEYS` may be missing."""

    version: int
    benchmark: str
    limit: int | None
    seed: int
    dataset: str | None
    configs: list[str]
    split: str
    revision: str | None
    path: str | None
    question: list[str]
    reference: list[str]
    reference_after: str | None
    options: NotRequired[list[str]]
    reference_is: NotRequired[Reading]
    shuffle_options: NotRequired[bool]
    group: NotRequired[list[str]]
    answers: NotRequired[str | list[str]]
    counts: NotRequired[str]
    only_if_counted: NotRequired[bool]
    only_if_empty: list[str]
    content: NotRequired[str]  # of a local file


class JobSettings(TypedDict):
    """The settings that identify the responses of a job."""

    version: int
    model: str
    benchmark: str
    content: NotRequired[str]  # of the source file (study/jobs/file_content.py)
    commit: NotRequired[str]  # of weights on the hub, found by the job


class SourceSettings(JobSettings):
    """The settings that imported traces depend on; Snakemake compares them."""

    engine: Literal["source"]
    source: str
    logprobs_mode: str | None
    samples: int
    sampling: dict[str, Any]
