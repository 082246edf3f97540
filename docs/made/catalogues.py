"""Write the reference pages of names (signals, estimators, judges, formats, analyses) and of the monitor's columns."""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from entropy_sentinel.core.analysis import Analysis, load_sections
from entropy_sentinel.core.extensions import get_module_name
from entropy_sentinel.estimators.estimator_registry import COMBINATIONS, FAMILIES
from entropy_sentinel.features.feature_registry import CATALOGUE, EXTRAS, FEATURE_SETS
from entropy_sentinel.judges.judge_registry import KINDS
from entropy_sentinel.judges.judge_registry import PROMPTS as JUDGE_PROMPTS
from entropy_sentinel.logs.format_registry import FORMATS
from entropy_sentinel.monitor.showing.result_files import PREFIX
from entropy_sentinel.monitor.slice_columns import CATALOGUE as OF_SLICES
from entropy_sentinel.schemas.signal_schema import Signal
from entropy_sentinel.signal_families.signal_registry import FAMILIES as SIGNAL_FAMILIES
from entropy_sentinel.signal_families.signal_registry import TOKENS
from entropy_sentinel.study.engines.engine_registry import PROMPTS as GENERATION_PROMPTS
from made.markdown import code, paragraphs, plain, table


def signals() -> str:
    """The page of signals: features of a response, signals of further families, and other columns."""
    head = ["name", "meaning", "unit", "larger means", "title"]
    sets = [[code(name), ", ".join(map(code, members))] for name, members in FEATURE_SETS.items()]
    return "\n".join(
        (
            "# Signals of a response\n",
            "A signal is a named number per response. Signals come in families, which a study names in "
            "`run.features`. The estimators `baseline-SIGNAL` and `atc-SIGNAL` take any signal by its name; "
            "`doc-SIGNAL` takes signals with values in [0, 1].\n",
            "## Features\n",
            "The family `tokens`, which every study has, is computed from the log-probabilities of a response's "
            "tokens. H(t) is the entropy of step t; [definitions](../definitions.md) explains how it is computed and "
            "where other tools differ.\n",
            table(head, map(_signal, CATALOGUE.values())),
            "## Feature sets\n",
            table(["set", "features"], sets),
            *_further_families(head),
            "## Other columns\n",
            "Estimators use these columns of the feature files only if you name them.\n",
            table(head, map(_signal, EXTRAS.values())),
        )
    )


def _further_families(head: list[str]) -> Iterator[str]:
    for name, family in SIGNAL_FAMILIES.items():
        if name != TOKENS:
            yield f"## {plain(name)}\n"
            yield f"{_sentence(family.meaning)}\n"
            yield table(head, map(_signal, family.signals))


def _signal(signal: Signal) -> list[str]:
    sign = "more certain" if signal.confident else "less certain"
    return [code(signal.name), plain(signal.meaning), plain(signal.unit), sign, plain(signal.title)]


def estimators() -> str:
    """The page of estimators: their families, with the names of the members."""
    parts = [
        "# Estimators\n",
        "Names of estimators in `estimation`, in `fit --estimator` and in results.\n",
    ]
    for family in FAMILIES:
        parts += [f"## {plain(family.name)}\n", f"{_sentence(family.meaning)}\n"]
        parts.append(table(["name", "title"], ([code(name), plain(title)] for name, title in family.titles.items())))
    made = ([code(name), one.summary, ", ".join(map(code, one.members))] for name, one in COMBINATIONS.items())
    return "\n".join([*parts, "## Members of combinations\n", table(["name", "takes the", "of"], made)])


def _sentence(text: str) -> str:
    return f"{plain(text[0].upper() + text[1:])}."


def judges() -> str:
    """The page of judges: their kinds, and the prompts of judges and models."""
    kinds = [[code(name), paragraphs(kind.__doc__).replace("\n\n", " ")] for name, kind in KINDS.items()]
    parts = [
        "# Kinds of judges, and prompts\n",
        "`judges.NAME.kind` in the config; [its keys](config.md#judges.NAME), and [how to choose](../judges.md).\n",
        table(["kind", "what it does"], kinds),
    ]
    for title, key, prompts in (
        ("Prompts of models", "generation.prompt", GENERATION_PROMPTS),
        ("Prompts of judges", "judges.NAME.prompt", JUDGE_PROMPTS),
    ):
        parts.append(f"## {title}\n\nNames for `{key}`, besides those of the section `prompts`.\n")
        for name, prompt in prompts.items():
            text = "\n\n".join(filter(None, (prompt.system, prompt.user)))
            parts.append(f"{code(name)}, version {prompt.version}:\n\n````text\n{text}\n````\n")
    return "\n".join(parts)


# A sample of each format, whose first record is the example of the page.
_SAMPLES = Path(__file__).parents[2] / "tests/logs/samples"
_NAMED = {
    "vllm": "vllm.jsonl",
    "inspect": "numbers.json",
    "litellm": "litellm.json",
    "openai-stream": "openai_stream.txt",
}
_LONGEST_TEXT = 60


def formats() -> str:
    """The page of formats of logs: for each, a record and how to request log-probabilities from the server."""
    parts = [
        "# Formats of logs\n",
        "`entropy-sentinel features`, `estimate`, `monitor` and `es.read_logs` read these formats, as JSON Lines, JSON "
        "arrays, server-sent events, Parquet or CSV, also packed (`.gz`). The first format that recognises a record "
        "reads it; `--format` names the format of records that none recognises. Parquet files of this pipeline are "
        "read as well.\n",
        "If a column of your records has the server's whole reply, in any of these formats, name it: "
        "`--reply payload.answer`, and `--request payload.body` for the question and the metadata. Otherwise write "
        "a [table](#table).\n",
        "In the examples, `...` stands for further tokens and alternatives.\n",
    ]
    for one in FORMATS.values():
        parts.append(f"## {one.name}\n\n{_sentence(one.meaning)}\n\nAsk for log-probabilities: {plain(one.request)}.\n")
        if (example := _example(one.name)) is not None:
            parts.append(f"```json\n{example}\n```\n")
    return "\n".join(parts)


def _example(name: str) -> str | None:
    """The first record of a format's sample, shortened; None for archives."""
    path = _SAMPLES / _NAMED.get(name, f"{name.replace('-', '_')}.jsonl")
    if not path.exists():
        path = path.with_suffix(".json")
    text = path.read_text(encoding="utf-8")
    if name == "inspect":
        return None
    begin = min(place for place in (text.find("{"), text.find("[{")) if place >= 0)
    record, _ = json.JSONDecoder().raw_decode(text[begin:])
    return json.dumps(_short(record[0] if isinstance(record, list) else record), indent=1, ensure_ascii=False)


def _short(value: Any) -> Any:
    """A value with one entry per list and without long texts."""
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_short(part) for part in value[:1]] + ["..."] * (len(value) > 1)
    if isinstance(value, str) and len(value) > _LONGEST_TEXT:
        return value[:_LONGEST_TEXT] + "..."
    return value


def slices() -> str:
    """The page of the monitor's columns and metrics."""
    columns = (
        [
            code(one.name),
            plain(one.meaning),
            plain(one.unit) or "-",
            code(f"{PREFIX}{one.metric}") if one.metric else "-",
        ]
        for one in OF_SLICES.values()
    )
    return "\n".join(
        (
            "# Numbers of a slice\n",
            "These columns follow the columns of `--by` in the files of `monitor --output` and in the frames of "
            "`es.monitor`. Columns about labels exist only if you give labels, columns about windows only with "
            "`--window`. The last column of this table is the name in `--metrics`.\n",
            table(["column", "meaning", "unit", "metric"], columns),
        )
    )


def exhibits() -> str:
    """The page of analyses, with their tables and figures."""
    parts = ["# Analyses, tables and figures\n", "Names for `run.analyses`, and for `tables` and `figures` of each.\n"]
    for name, settings in load_sections().items():
        text = import_module(get_module_name("analyses", name)).__doc__
        parts += [f"## {name}\n", f"{paragraphs(text)}\n", f"{paragraphs(settings.__doc__)}\n"]
        parts += _shown(settings)
    return "\n".join(parts)


def _shown(settings: type[Analysis]) -> Iterator[str]:
    for kind, exhibits in (("table", settings.TABLES), ("figure", settings.FIGURES)):
        if exhibits:
            yield table([kind, "title"], ([code(name), plain(title)] for name, title in exhibits.items()))
