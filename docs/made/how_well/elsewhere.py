"""The page's sections about answers unlike those that an estimator was fitted on; a section is a function."""

from collections.abc import Mapping

import polars as pl

from made.how_well.cases import DEFAULT, METHODS, mean_over_domains
from made.how_well.fitted import FLAGS
from made.how_well.page import Cases, inside, left_out_once, number, share
from made.markdown import table


def transfer(cases: Mapping[tuple[str, str], tuple[Cases, Cases]], own: Cases) -> str:
    """What an estimator of one model says of another: with the domain's labels of the first, and without."""
    head = [
        "fitted on",
        "asked about",
        "method",
        "own labels, domain left out",
        "without the domain",
        "with the domain",
    ]
    rows = []
    for (known, asked), (without, along) in cases.items():
        for method in METHODS:
            of_own = left_out_once(own).filter(model=asked, method=method)
            errors = [mean_over_domains(part.filter(method=method)) for part in (without, along)]
            rows.append([known, asked, METHODS[method], str(mean_over_domains(of_own)), *(str(one) for one in errors)])
    return (
        "## From one model to another\n\n"
        "AEE where the labels are of one model's answers and the estimates of another's, to the same questions;\n"
        f"beside it what the other's own labels give.\n\n{table(head, rows)}"
    )


def other_kind(cases: Mapping[tuple[str, str], Cases]) -> str:
    """What an estimator says of another kind of question; cases by the kinds fitted on and asked about."""
    sums, rows = [], []
    for kinds, part in cases.items():
        shares = [share(part, inside(0.9)), share(part, pl.col(FLAGS[0]))]
        sums.append([*kinds, str(mean_over_domains(part)), *shares])
        for case in part.with_columns(inside(0.9).alias("holds")).iter_rows(named=True):
            numbers = [str(case["n"]), number(case["true"]), number(case["estimated"])]
            interval = f"{case['lower_90%']:.3f} to {case['upper_90%']:.3f}"
            signs = ["yes" if case[name] else "no" for name in ("holds", *FLAGS)]
            rows.append([kinds[1], case["model"], case["benchmark"], *numbers, interval, *signs])
    head = ["asked about", "model", "domain", "labels", "true", "estimated", "90% interval", "holds", *FLAGS]
    return (
        "## Another kind of question\n\n"
        "Estimators of both models, fitted with `recommended` on mathematics and asked about trivia, and the reverse.\n"
        "The trivia are AmbigQA's questions with one answer and with several, thirty short answers to each\n"
        "([examples/ambigqa](../examples/ambigqa/README.md)). An answer is correct if it names a right answer.\n\n"
        + table(["fitted on", "asked about", "AEE", "90% intervals that hold", f"flag `{FLAGS[0]}`"], sums)
        + "\n"
        + table(head, rows)
    )


def temperature(hot: Cases, same: Cases, temperatures: tuple[float, float]) -> str:
    """What another temperature does to an estimator's errors; both are fitted at the first."""
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
        f"{hot['model'][0]}, fitted on answers at temperature {first:g} to all domains but the one that is\n"
        f"estimated, asked about answers to {', '.join(domains)}: AEE.\n"
        f"True accuracies are {true[0]} and {true[1]} in the mean.\n\n"
        + table(["method", f"at {first:g}", f"at {second:g}"], rows)
    )
