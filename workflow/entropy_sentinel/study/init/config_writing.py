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
from entropy_sentinel.study.init.row_sources import MARK, Rows, free_name, name_of
from entropy_sentinel.study.items.benchmark_settings import SOURCE_ENDS


@dataclass(frozen=True)
class Start:
    """A study to write: rows by the name of the benchmark, and config lines by the name of the model.

    A model of config.yaml has no lines. `labels` is the folder of imported labels, and `with_labels` are the
    benchmarks with labels there.
    """

    name: str
    benchmarks: Mapping[str, Rows]
    models: Mapping[str, Sequence[str]]
    labels: str | None = None
    with_labels: Collection[str] = ()

    @property
    def labelled(self) -> list[str]:
        """The benchmarks with references or labels, on which estimators can be trained."""
        return [name for name, rows in self.benchmarks.items() if rows.reference or name in self.with_labels]


def text_of(start: Start, file: str) -> str:
    """The text of the config `file`; raises ConfigError without two domains or without a labelled one."""
    if len(start.benchmarks) < 2 or not start.labelled:
        raise ConfigError(
            f"{file}: a study needs at least two domains, and at least one with references or labels; it has "
            f"{len(start.benchmarks)} and {len(start.labelled)}. Name a column with --reference, or files with --labels"
        )
    lines = [
        "# A study written by `entropy-sentinel init`. Other settings come from config.yaml, which explains each key.",
        f"#   entropy-sentinel plan -c {file}",
        f"#   snakemake --cores 2 --resources gpu=1 --configfile {file}     # --dry-run shows its plan",
        f"study: {scalar(start.name)} # results go to results/{start.name}/",
    ]
    if not start.labels:
        lines.append("limit: 100 # items of each benchmark, for a first look; null for all")
    lines += ["", "run:", f"  models: [{_names(start.models)}]", "  benchmarks:"]
    for name in start.benchmarks:
        lines.append(f"    - {scalar(name)}{'' if name in start.labelled else ' # no labels: estimated'}")
    if start.labels:
        lines.append("  judges: [people] # labels in a folder, see below")
    else:
        about = "numbers and formulas; for texts name one of kind llm, see `judges` in config.yaml"
        lines.append(f"  judges: [math-verify] # {about}")
    lines += [*_training(start), "", *_generation(start), *_models(start)]
    if start.labels:
        lines += ["judges:", f"  people: {{kind: file, path: {scalar(start.labels)}}}", ""]
    lines.append("benchmarks:")
    for name, rows in start.benchmarks.items():
        lines += _benchmark(name, rows, start.labels is None)
    return "\n".join(lines) + "\n"


def _training(start: Start) -> list[str]:
    """The lines about the training groups."""
    first = start.labelled[: max(1, min(3, len(start.labelled) // 2))]
    sizes = [] if start.labels else ["{size: 1, configurations: default}"]
    if len(start.labelled) > 2:
        sizes.append("{size: all-but-one, configurations: default}")
    return [
        "  groups: [training] # estimators are trained on them, see `groups`, and estimate all other benchmarks",
        f"  sizes: [{', '.join(sizes)}] # further groups: one benchmark, all but one, each in turn",
        "  analyses: [accuracy, rejection, responses]",
        "",
        "groups:",
        f"  training: {{benchmarks: [{_names(first)}], configurations: default}}",
    ]


def _generation(start: Start) -> list[str]:
    if all(lines and lines[0].startswith("source") for lines in start.models.values()):
        return []
    lines = ["generation:", "  sampling: {temperature: 0.5, max_tokens: 1024} # longest response, tokens"]
    if is_cpu_build():
        if not has_bfloat16_instructions():
            lines.append("  engine_args: {dtype: float32} # this CPU has no instructions for bfloat16")
        lines.append(f"  threads: {count_cores()} # all cores of this machine for one job")
        lines += ["", "rates: {gpu_usd_per_h: 0} # generating takes no GPU here; for `entropy-sentinel plan`"]
    return [*lines, ""]


def _models(start: Start) -> list[str]:
    section = []
    for name, lines in start.models.items():
        if lines:
            section.append(f"  {scalar(name)}:")
            section += [f"    {line}" for line in lines]
    return ["models:", *section, ""] if section else []


def _benchmark(name: str, rows: Rows, wants_references: bool) -> list[str]:
    lines = [f"  {scalar(name)}:", f"    path: {scalar(rows.path)}", f"    question: {_column(rows.question)}"]
    if rows.reference is None and wants_references:
        lines.append('    # reference: ["{column}"] # none was found: a domain without labels, which is estimated')
    elif rows.reference:
        lines.append(f"    reference: {_column(rows.reference)}")
    if rows.marked:
        lines.append(f"    reference_after: {scalar(MARK)} # the final answer follows this mark")
    if rows.options:
        listed = scalar(rows.options) if isinstance(rows.options, str) else f"[{_names(rows.options)}]"
        lines += [f"    options: {listed} # written below the question", "    judge: choice"]
    if rows.reference_is:
        lines.append(f"    reference_is: {rows.reference_is} # from 0, if it is not `number`, from 1: please check")
    return lines


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(scalar, names))


def _column(name: str) -> str:
    return f"[{scalar(f'{{{name}}}')}]"


def named_rows(files: Iterable[Rows], taken: Iterable[str]) -> dict[str, Rows]:
    """Name each file of rows, without duplicates and without the names in config.yaml (`taken`)."""
    named: dict[str, Rows] = {}
    for rows in files:
        named[free_name(name_of(rows.path), [*taken, *named])] = rows
    return named


def named_models(models: Iterable[str], benchmarks: Iterable[str], base: Mapping[str, Any]) -> dict[str, list[str]]:
    """The config lines of each model by its name; the models of config.yaml, `base`, have none.

    `models` are folders, ids of the hub, and names in config.yaml. Raises ConfigError for a folder without weights and
    without traces of all benchmarks.
    """
    known = {model.get("id"): name for name, model in base.items()}
    named: dict[str, list[str]] = {}
    for place in models:
        if place in known or place in base:
            named[known.get(place, place)] = []
            continue
        name = free_name(name_of(place).lower(), [*base, *named])
        named[name] = _model(place, list(benchmarks))
    return named


def _model(place: str, benchmarks: Sequence[str]) -> list[str]:
    folder = Path(place)
    if must := find_gguf_problem(place):
        raise ConfigError(f"--model {place}: {must}")
    if not folder.is_dir():
        return [f"id: {scalar(place)} # Hugging Face id; revision: pins a commit"]
    if (folder / "config.json").is_file():
        return [f"path: {scalar(place)} # folder with weights"]
    for name in benchmarks:
        if not any((folder / f"{name}{end}").is_file() for end in SOURCE_ENDS):
            raise ConfigError(
                f"--model {place}: must be a folder with weights (config.json), or with traces of every benchmark; "
                f"there is no {name}.parquet and no {name}.jsonl"
            )
    return source_lines(place)


def source_lines(folder: str) -> list[str]:
    """The config lines of a model with imported traces."""
    return [
        f"source: {scalar(folder)} # folder with imported traces, one file per benchmark",
        "# The kind of its log-probabilities, if the files do not state it: from before temperature.",
        "source_logprobs_mode: raw_logprobs",
    ]


def scalar(text: str) -> str:
    """A text as YAML key or value, in quotes if YAML would read a number, date, boolean or null."""
    (line,) = yaml.safe_dump([text], default_flow_style=True, allow_unicode=True, width=math.inf).splitlines()
    return line.removeprefix("[").removesuffix("]")
