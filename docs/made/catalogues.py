"""Pages of what can be named in a config or a command: signals, estimators, judges, formats, prompts, exhibits."""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from entropy_sentinel.config.analyses import sections
from entropy_sentinel.engines.catalogue import PROMPTS as GENERATION_PROMPTS
from entropy_sentinel.estimators.catalogue import COMBINATIONS, FAMILIES
from entropy_sentinel.features.catalogue import CATALOGUE, EXTRAS, FEATURE_SETS, Feature
from entropy_sentinel.judges.catalogue import PROMPTS as JUDGE_PROMPTS
from entropy_sentinel.judges.settings import KINDS
from entropy_sentinel.sources.logs.catalogue import FORMATS
from made.markdown import code, paragraphs, plain, table


def signals() -> str:
    """Features of a response, and what else is known of one."""
    head = ["name", "meaning", "unit", "larger means", "title"]
    sets = [[code(name), ", ".join(map(code, members))] for name, members in FEATURE_SETS.items()]
    return "\n".join(
        (
            "# Signals of a response\n",
            "Numbers that are computed from the log-probabilities of a response's tokens. H(t) is the entropy of "
            "step t: [definitions](../definitions.md) says how it is computed, and where other tools differ.\n",
            "## Features\n",
            "What estimators are trained on. `baseline-`, `atc-` and `doc-` take one by its name.\n",
            table(head, map(_signal, CATALOGUE.values())),
            "## Feature sets\n",
            table(["set", "features"], sets),
            "## Beside the features\n",
            "Columns of the feature files that no estimator sees unless it is told to.\n",
            table(head, map(_signal, EXTRAS.values())),
        )
    )


def _signal(feature: Feature) -> list[str]:
    sign = "more certain" if feature.confident else "less certain"
    return [code(feature.name), plain(feature.meaning), plain(feature.unit), sign, plain(feature.title)]


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


def exhibits() -> str:
    """Analyses with their tables and figures."""
    parts = ["# Analyses, tables and figures\n", "Names for `run.analyses`, and for `tables` and `figures` of each.\n"]
    for name, settings in sections().items():
        room = f"entropy_sentinel.analyses.{name}"
        parts += [f"## {name}\n", f"{paragraphs(import_module(room).__doc__)}\n", f"{paragraphs(settings.__doc__)}\n"]
        parts += _shown(import_module(f"{room}.catalogue")) if _has_catalogue(room) else []
    return "\n".join(parts)


def _has_catalogue(room: str) -> bool:
    try:
        import_module(f"{room}.catalogue")
    except ModuleNotFoundError:
        return False
    return True


def _shown(catalogue: ModuleType) -> Iterator[str]:
    for kind in ("TABLES", "FIGURES"):
        if found := getattr(catalogue, kind, None):
            rows = ([code(name), plain(title)] for name, title in found.items())
            yield table([kind.lower().removesuffix("s"), "title"], rows)
