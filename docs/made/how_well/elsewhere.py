"""The page's sections about answers unlike those that an estimator was fitted on; a section is a function."""

from collections.abc import Mapping

import polars as pl

from made.how_well.cases import DEFAULT, METHODS, mean_over_domains
from made.how_well.fitted import FLAGS
from made.how_well.page import BAD, Cases, inside, left_out_once, number, share
from made.markdown import table


def transfer(cases: Mapping[tuple[str, str], tuple[Cases, Cases]], own: Cases) -> str:
    """The section on another model: AEE with the first model's labels of the domain, and without."""
    head = [
        "fitted on",
        "asked about",
        "method",
        "own labels, domain held out",
        "without the domain",
        "with the domain",
    ]
    rows = []
    for (known, asked), (without, along) in cases.items():
        for method in METHODS:
            of_own = left_out_once(own).filter(model=asked, method=method)
            errors = [mean_over_domains(part.filter(method=method)) for part in (without, along)]
            rows.append(
                [known, asked, METHODS[method], str(mean_over_domains(of_own)), *(str(error) for error in errors)]
            )
    return (
        "## From one model to another\n\n"
        "AEE of estimators that are fitted on one model's answers and applied to another model's answers to the\n"
        "same questions; for comparison, AEE of estimators fitted on the other model's own labels.\n\n"
        f"{table(head, rows)}"
    )


def other_kind(cases: Mapping[tuple[str, str], Cases]) -> str:
    """The section on another kind of question; `cases` are keyed by the kinds fitted on and applied to."""
    rows = []
    for kinds, both in cases.items():
        for (model,), part in both.group_by("model", maintain_order=True):
            means = [number(part[name].mean()) for name in ("true", "estimated", "error")]
            width = number(part.select((pl.col("upper_90%") - pl.col("lower_90%")).mean()).item())
            shares = [share(part, flag) for flag in (inside(0.9), *map(pl.col, FLAGS))]
            rows.append([*kinds, model, str(len(part)), *means, shares[0], width, *shares[1:]])
    head = ["fitted on", "asked about", "model", "domains", "true", "estimated", "AEE"]
    return (
        "## Another kind of question\n\n"
        "Estimators fitted with `recommended` on mathematics and applied to trivia, and the reverse. The trivia are\n"
        "AmbigQA's questions with one answer and with several, thirty short answers each\n"
        "([examples/ambigqa](ambiguity.md#what-a-real-model-shows)). An answer is correct if it names a right\n"
        "answer. Means over domains; for intervals and flags, the share of the domains.\n\n"
        f"{table([*head, '90% intervals that hold', 'their width', *FLAGS], rows)}\n"
        f"{_unwarned(next(iter(cases.values())))}"
    )


def _unwarned(cases: Cases) -> str:
    """What to make of estimates that are far off: what the flag says, or that no flag shows it."""
    if cases["error"].mean() < BAD:
        return ""
    if cases["unfamiliar"].all():
        return (
            "The estimates are far off, and no labelled domain shows it. The flag `unfamiliar` does: the words of the\n"
            "answers are farther from every labelled domain than any of them is from the others. The interval then\n"
            "rests on an assumption alone, and is so wide that it says little; of ten further kinds, it held for 8.\n"
            "Label some of these responses: `sample` puts such slices first. A slice of another kind can also be\n"
            "estimated well, by luck."
        )
    return (
        "No flag warns of the change from mathematics to trivia: about half of these wrong answers have entropies\n"
        "like those of right answers to mathematics. So label some responses to every new kind of question."
    )


def temperature(hot: Cases, same: Cases, temperatures: tuple[float, float]) -> str:
    """The section on another temperature: errors of estimators fitted on answers at the first temperature."""
    domains = hot["benchmark"].unique(maintain_order=True).to_list()
    same = same.filter(pl.col("benchmark").is_in(domains))
    rows = [
        [name, str(mean_over_domains(same.filter(method=method))), str(mean_over_domains(hot.filter(method=method)))]
        for method, name in METHODS.items()
    ]
    first, second = temperatures
    true = [f"{part.filter(method=DEFAULT)['true'].mean():.3f}" for part in (same, hot)]
    return (
        "## Another temperature\n\n"
        f"AEE for {hot['model'][0]} on {', '.join(domains)}, of estimators fitted on answers to all other\n"
        f"domains at temperature {first:g}. The mean true accuracies are {true[0]} and {true[1]}.\n\n"
        + table(["method", f"at {first:g}", f"at {second:g}"], rows)
    )
