"""Pages of what can be named in a config or a command, and of what the monitor says of a slice."""

from collections.abc import Iterator
from importlib import import_module

from entropy_sentinel.engines.catalogue import PROMPTS as GENERATION_PROMPTS
from entropy_sentinel.estimators.catalogue import COMBINATIONS, FAMILIES
from entropy_sentinel.features.catalogue import CATALOGUE, EXTRAS, FEATURE_SETS
from entropy_sentinel.frames.analysis import Analysis, sections
from entropy_sentinel.frames.signals import Signal
from entropy_sentinel.judges.catalogue import PROMPTS as JUDGE_PROMPTS
from entropy_sentinel.judges.settings import KINDS
from entropy_sentinel.monitor.catalogue import CATALOGUE as OF_SLICES
from entropy_sentinel.monitor.showing.outputs import PREFIX
from entropy_sentinel.signals.catalogue import FAMILIES as SIGNAL_FAMILIES
from entropy_sentinel.signals.catalogue import TOKENS
from entropy_sentinel.sources.logs.settings import FORMATS
from made.markdown import code, paragraphs, plain, table


def signals() -> str:
    """Features of a response, the signals of further families, and what else is known of one."""
    head = ["name", "meaning", "unit", "larger means", "title"]
    sets = [[code(name), ", ".join(map(code, members))] for name, members in FEATURE_SETS.items()]
    return "\n".join(
        (
            "# Signals of a response\n",
            "A signal is a named number per response. Signals come in families, which a study names in "
            "`run.features`. `baseline-` and `atc-` take one by its name, and `doc-` one with values in [0, 1].\n",
            "## Features\n",
            "The family `tokens`, which every study has: computed from the log-probabilities of a response's tokens. "
            "H(t) is the entropy of step t: [definitions](../definitions.md) says how it is computed, and where other "
            "tools differ.\n",
            table(head, map(_signal, CATALOGUE.values())),
            "## Feature sets\n",
            table(["set", "features"], sets),
            *_further_families(head),
            "## Beside the features\n",
            "Columns of the feature files that no estimator sees unless it is told to.\n",
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
    """Families of estimators with the names of their members."""
    parts = [
        "# Estimators\n",
        "What an estimator is called in `estimation`, in `fit --estimator` and in results.\n",
    ]
    for family in FAMILIES:
        parts += [f"## {plain(family.name)}\n", f"{_sentence(family.meaning)}\n"]
        parts.append(table(["name", "title"], ([code(name), plain(title)] for name, title in family.titles.items())))
    made = ([code(name), one.summary, ", ".join(map(code, one.members))] for name, one in COMBINATIONS.items())
    return "\n".join([*parts, "## What combinations are made of\n", table(["name", "takes the", "of"], made)])


def _sentence(text: str) -> str:
    return f"{plain(text[0].upper() + text[1:])}."


def judges() -> str:
    """Kinds of judges, and the prompts of judges and models."""
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
        parts.append(f"## {title}\n\nNames for `{key}`, beside those of the section `prompts`.\n")
        for name, prompt in prompts.items():
            text = "\n\n".join(filter(None, (prompt.system, prompt.user)))
            parts.append(f"{code(name)}, version {prompt.version}:\n\n````text\n{text}\n````\n")
    return "\n".join(parts)


def formats() -> str:
    """Formats of logs."""
    return "\n".join(
        (
            "# Formats of logs\n",
            "What `entropy-sentinel features`, `estimate`, `monitor` and `es.read_logs` read. The first that "
            "recognises a record has it; `--format` names one where the records do not show it. Parquet files of this "
            "pipeline are read as well.\n",
            table(["name", "what it is"], ([code(one.name), plain(one.meaning)] for one in FORMATS.values())),
        )
    )


def slices() -> str:
    """Columns of the monitor's rows, and metrics."""
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
            "Columns of the files of `monitor --output` and of the frames of `es.monitor`, after those of the slices "
            "themselves. Those about labels are there where labels are given, those of windows with `--window`. "
            "The last column is the name in `--metrics`.\n",
            table(["column", "meaning", "unit", "metric"], columns),
        )
    )


def exhibits() -> str:
    """Analyses with their tables and figures."""
    parts = ["# Analyses, tables and figures\n", "Names for `run.analyses`, and for `tables` and `figures` of each.\n"]
    for name, settings in sections().items():
        room = f"entropy_sentinel.analyses.{name}"
        parts += [f"## {name}\n", f"{paragraphs(import_module(room).__doc__)}\n", f"{paragraphs(settings.__doc__)}\n"]
        parts += _shown(settings)
    return "\n".join(parts)


def _shown(settings: type[Analysis]) -> Iterator[str]:
    for kind, exhibits in (("table", settings.TABLES), ("figure", settings.FIGURES)):
        if exhibits:
            yield table([kind, "title"], ([code(name), plain(title)] for name, title in exhibits.items()))
