"""Write the config of a small study, with comments: its benchmarks, its models, and their names."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from entropy_sentinel.core.errors import ConfigError
from entropy_sentinel.study.engines.cpu_settings import count_cores, has_bfloat16_instructions, is_cpu_build
from entropy_sentinel.study.engines.model_weights import find_gguf_problem
from entropy_sentinel.study.init.row_sources import ANSWER_MARK, Rows, find_free_name, make_name
from entropy_sentinel.study.items.benchmark_settings import SOURCE_SUFFIXES


@dataclass(frozen=True)
class StudyDraft:
    """A study to write: rows by the name of the benchmark, and config lines by the name of the model.

    A model that config.yaml already has gets no lines. `labels` is the folder of imported labels (None: a judge
    labels), and `imported_benchmarks` are the benchmarks with labels there.
    """

    name: str
    benchmarks: Mapping[str, Rows]
    models: Mapping[str, Sequence[str]]
    labels: str | None = None
    imported_benchmarks: Collection[str] = ()

    @property
    def labelled_benchmarks(self) -> list[str]:
        """The benchmarks with references or labels, on which estimators can be trained."""
        return [name for name, rows in self.benchmarks.items() if rows.reference or name in self.imported_benchmarks]


def compose_config(draft: StudyDraft, file: str) -> str:
    """The text of the config `file`; raises ConfigError without two domains or without a labelled one."""
    if len(draft.benchmarks) < 2 or not draft.labelled_benchmarks:
        raise ConfigError(
            f"{file}: a study needs at least two domains, and at least one with references or labels; it has "
            f"{len(draft.benchmarks)} and {len(draft.labelled_benchmarks)}. Name a column with --reference, "
            "or files with --labels"
        )
    lines = [
        "# A study written by `entropy-sentinel init`. Other settings come from config.yaml, which explains each key.",
        f"#   entropy-sentinel plan -c {file}",
        f"#   snakemake --cores 2 --resources gpu=1 --configfile {file}     # --dry-run shows its plan",
        f"study: {format_scalar(draft.name)} # results go to results/{draft.name}/",
    ]
    if not draft.labels:
        lines.append("limit: 100 # items of each benchmark, for a first look; null for all")
    lines += ["", "run:", f"  models: [{_join_names(draft.models)}]", "  benchmarks:"]
    for name in draft.benchmarks:
        comment = "" if name in draft.labelled_benchmarks else " # no labels: estimated"
        lines.append(f"    - {format_scalar(name)}{comment}")
    if draft.labels:
        lines.append("  judges: [people] # labels in a folder, see below")
    else:
        advice = "numbers and formulas; for texts name one of kind llm, see `judges` in config.yaml"
        lines.append(f"  judges: [math-verify] # {advice}")
    lines += [*_write_training(draft), "", *_write_generation(draft), *_write_models(draft)]
    if draft.labels:
        lines += ["judges:", f"  people: {{kind: file, path: {format_scalar(draft.labels)}}}", ""]
    lines.append("benchmarks:")
    for name, rows in draft.benchmarks.items():
        lines += _write_benchmark(name, rows, draft.labels is None)
    return "\n".join(lines) + "\n"


def _write_training(draft: StudyDraft) -> list[str]:
    """The lines about the training groups: sets of benchmarks on whose labels estimators are fitted."""
    n_labelled = len(draft.labelled_benchmarks)
    # Half of the labelled benchmarks, one to three, so that the others show how good the estimates are.
    n_training = max(1, min(3, n_labelled // 2))
    training = draft.labelled_benchmarks[:n_training]
    # Groups of one benchmark each; but a domain of a log with labels is a slice of it, with too few labels for that.
    sizes = [] if draft.labels else ["{size: 1, configurations: default}"]
    if n_labelled > 2:
        sizes.append("{size: all-but-one, configurations: default}")
    return [
        "  groups: [training] # estimators are trained on them, see `groups`, and estimate all other benchmarks",
        f"  sizes: [{', '.join(sizes)}] # further groups: one benchmark, all but one, each in turn",
        "  analyses: [accuracy, rejection, responses]",
        "",
        "groups:",
        f"  training: {{benchmarks: [{_join_names(training)}], configurations: default}}",
    ]


def _write_generation(draft: StudyDraft) -> list[str]:
    """The lines about how responses are generated; none if all models have imported traces."""
    if all(map(_has_imported_traces, draft.models.values())):
        return []
    lines = ["generation:", "  sampling: {temperature: 0.5, max_tokens: 1024} # longest response, tokens"]
    if is_cpu_build():
        if not has_bfloat16_instructions():
            lines.append("  engine_args: {dtype: float32} # this CPU has no instructions for bfloat16")
        lines.append(f"  threads: {count_cores()} # all cores of this machine for one job")
        lines += ["", "rates: {gpu_usd_per_h: 0} # generating takes no GPU here; for `entropy-sentinel plan`"]
    return [*lines, ""]


def _has_imported_traces(model_lines: Sequence[str]) -> bool:
    """Whether the config lines of a model are those of `write_source_lines`: then no engine generates its responses."""
    return bool(model_lines) and model_lines[0].startswith("source:")


def _write_models(draft: StudyDraft) -> list[str]:
    """The lines of the section `models`; none if config.yaml has all models of the study."""
    section = []
    for name, lines in draft.models.items():
        if lines:
            section.append(f"  {format_scalar(name)}:")
            section += [f"    {line}" for line in lines]
    return ["models:", *section, ""] if section else []


def _write_benchmark(name: str, rows: Rows, wants_references: bool) -> list[str]:
    """The config lines of a benchmark; with `wants_references`, one without references gets the key as a comment."""
    lines = [
        f"  {format_scalar(name)}:",
        f"    path: {format_scalar(rows.path)}",
        f"    question: {_format_column(rows.question)}",
    ]
    if rows.reference is None and wants_references:
        lines.append('    # reference: ["{column}"] # none was found: a domain without labels, which is estimated')
    elif rows.reference:
        lines.append(f"    reference: {_format_column(rows.reference)}")
    if rows.has_answer_mark:
        lines.append(f"    reference_after: {format_scalar(ANSWER_MARK)} # the final answer follows this mark")
    if rows.options:
        options = format_scalar(rows.options) if isinstance(rows.options, str) else f"[{_join_names(rows.options)}]"
        lines += [f"    options: {options} # written below the question", "    judge: choice"]
    if rows.reference_is:
        lines.append(
            f"    reference_is: {rows.reference_is} # index: options count from 0; number: from 1; please check"
        )
    return lines


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(map(format_scalar, names))


def _format_column(name: str) -> str:
    """A YAML list with the format string of a column, `["{question}"]`."""
    template = f"{{{name}}}"
    return f"[{format_scalar(template)}]"


def name_benchmarks(files: Iterable[Rows], used_names: Iterable[str]) -> dict[str, Rows]:
    """Name each file of rows, without duplicates and without the names in config.yaml (`used_names`)."""
    rows_by_name: dict[str, Rows] = {}
    for rows in files:
        rows_by_name[find_free_name(make_name(rows.path), [*used_names, *rows_by_name])] = rows
    return rows_by_name


def name_models(models: Iterable[str], benchmarks: Iterable[str], base: Mapping[str, Any]) -> dict[str, list[str]]:
    """The config lines of each model by its name; [] for a model in `base`, the section `models` of config.yaml.

    `models` are folders, ids of the hub, and names in config.yaml. Raises ConfigError for a folder without weights and
    without traces of all benchmarks.
    """
    names_by_id = {model.get("id"): name for name, model in base.items()}
    lines_by_name: dict[str, list[str]] = {}
    for source in models:
        if source in names_by_id or source in base:
            lines_by_name[names_by_id.get(source, source)] = []
            continue
        name = find_free_name(make_name(source).lower(), [*base, *lines_by_name])
        lines_by_name[name] = _write_model(source, list(benchmarks))
    return lines_by_name


def _write_model(source: str, benchmarks: Sequence[str]) -> list[str]:
    """The config lines of a model by its `source`: an id of the hub, or a folder with weights or imported traces."""
    folder = Path(source)
    if problem := find_gguf_problem(source):
        raise ConfigError(f"--model {source}: {problem}")
    if not folder.is_dir():
        return [f"id: {format_scalar(source)} # Hugging Face id; revision: pins a commit"]
    if (folder / "config.json").is_file():
        return [f"path: {format_scalar(source)} # folder with weights"]
    for name in benchmarks:
        if not any((folder / f"{name}{end}").is_file() for end in SOURCE_SUFFIXES):
            raise ConfigError(
                f"--model {source}: must be a folder with weights (config.json), or with traces of every benchmark; "
                f"there is no {name}.parquet and no {name}.jsonl"
            )
    return write_source_lines(source)


def write_source_lines(folder: str) -> list[str]:
    """The config lines of a model with imported traces."""
    return [
        f"source: {format_scalar(folder)} # folder with imported traces, one file per benchmark",
        "# The kind of its log-probabilities, if the files do not state it: from before temperature.",
        "source_logprobs_mode: raw_logprobs",
    ]


def format_scalar(text: str) -> str:
    """A text as YAML key or value, in quotes if YAML would read a number, date, boolean or null."""
    (line,) = yaml.safe_dump([text], default_flow_style=True, allow_unicode=True, width=math.inf).splitlines()
    return line.removeprefix("[").removesuffix("]")
