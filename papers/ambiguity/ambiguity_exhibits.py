"""The tables and figures of this analysis, the estimators that it compares, the forms of the uncertainty, and notes."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from entropy_sentinel.rendering.exhibit_declarations import ExhibitDeclaration, PrintedTable

# The paper's printed tables; its models and benchmarks have here the names in papers/ambiguity/study.yaml.
PUBLISHED_FOLDER = Path(__file__).with_name("published")
_SETS, _AMBIGUOUS = ("triviaqa", "maqa", "ambigqa"), ("maqa", "ambigqa")
_SIZES = ("gemma-3-1b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b")
_INSTRUCT = ("llama-3.1-8b-instruct", "gemma-3-12b-instruct", "qwen-2.5-14b-instruct", "gpt-4.1-mini")


@dataclass(frozen=True)
class UncertaintyEstimator:
    """A number per item that should measure how unsure the model is: a `signal` from a `family` of signals."""

    title: str
    meaning: str
    family: str
    signal: str


# The paper's estimators, in its order; for all of them, a larger value means less certainty.
ESTIMATORS: dict[str, UncertaintyEstimator] = {
    "se": UncertaintyEstimator("SE", "semantic entropy", "semantics", "semantic_entropy"),
    "msp": UncertaintyEstimator("MSP", "1 - maximum sequence probability, by beam search", "beam_search", "msp"),
    "sar": UncertaintyEstimator("SAR", "shifting attention to relevance", "sar", "sar"),
    "ip": UncertaintyEstimator("IP", "mutual information of iterative prompting", "iterative_prompting", "ip"),
}
# Added here for servers without log-probabilities: SE with class probabilities from the shares of the samples.
BY_FREQUENCY = "se_frequencies"
ESTIMATOR_TITLES: dict[str, str] = {name: estimator.title for name, estimator in ESTIMATORS.items()} | {
    BY_FREQUENCY: "SE, frequencies"
}

# How the uncertainties are computed, in the paper as Kullback-Leibler (KL) divergences; the forms of a Dirichlet
# posterior are `dirichlet-<gamma>`.
PAPER_FORM, FREQUENCIES = "kl", "kl-frequencies"
FORMS: dict[str, str] = {
    PAPER_FORM: "as in the paper",
    "kl-renormalised": "p scaled to add up to 1",
    FREQUENCIES: "p from the shares of the samples",
}

# Items by their number of right answers: with one answer, the aleatoric uncertainty is 0.
ANSWERS: dict[str, str] = {"one": "one (AU = 0)", "several": "several (AU > 0)"}

TABLES: dict[str, PrintedTable] = {
    "1_examples": PrintedTable(
        "Questions, answers and their probabilities", "papers.ambiguity.ambiguity_tables.table_1_examples"
    ),
    # Also the paper's Tables 5 and 6, which have the same columns for other models.
    "2_concordance": PrintedTable(
        "Concordance with the epistemic uncertainty",
        "papers.ambiguity.ambiguity_tables.table_2_concordance",
        _SETS,
        ("llama-3.1-8b", "qwen-2.5-14b", *_INSTRUCT, *_SIZES),
    ),
    "3_dirichlet": PrintedTable(
        "Concordance with p* known only from its counts",
        "papers.ambiguity.ambiguity_tables.table_3_dirichlet",
        _AMBIGUOUS,
        ("gemma-3-12b",),
    ),
    "4_sources": PrintedTable(
        "Concordance by where p* is from",
        "papers.ambiguity.ambiguity_tables.table_4_sources",
        _AMBIGUOUS,
        ("gemma-3-12b",),
    ),
    "7_auroc": PrintedTable(
        "AUROC for questions of large epistemic uncertainty",
        "papers.ambiguity.ambiguity_tables.table_7_auroc",
        _SETS,
        ("gemma-3-12b",),
    ),
    # Without a model, because p* is the same for all.
    "8_p_star": PrintedTable("Statistics of p*", "papers.ambiguity.ambiguity_tables.table_8_p_star", _AMBIGUOUS),
    "forms": PrintedTable("Concordance by how p is computed", "papers.ambiguity.ambiguity_tables.table_forms"),
    "intervals": PrintedTable(
        "Every concordance with its interval", "papers.ambiguity.ambiguity_tables.table_intervals"
    ),
}

FIGURES: dict[str, ExhibitDeclaration] = {
    "1_bounds": ExhibitDeclaration(
        "What entropy implies for questions with one answer", "papers.ambiguity.ambiguity_figures.figure_1_bounds"
    ),
    "2_p_star": ExhibitDeclaration("Entropy of p*", "papers.ambiguity.ambiguity_figures.figure_2_p_star"),
    # One for each model.
    "3_relationship": ExhibitDeclaration(
        "Epistemic uncertainty against the estimators", "papers.ambiguity.ambiguity_figures.figure_3_relationship"
    ),
    "4_collapse": ExhibitDeclaration(
        "Mean entropy and epistemic uncertainty", "papers.ambiguity.ambiguity_figures.figure_4_collapse"
    ),
    "5_divergence": ExhibitDeclaration(
        "Differences between sources of p*", "papers.ambiguity.ambiguity_figures.figure_5_divergence"
    ),
}


def name_dirichlet(gamma: float) -> str:
    """The form of the uncertainty expected over p* ~ Dir(1 + gamma count): `dirichlet-0.5`, `dirichlet-10`."""
    return f"dirichlet-{gamma:g}"


def form_title(form: str) -> str:
    """The title in tables of a form, the way that the uncertainty is computed: `as in the paper`, `gamma = 10`."""
    return FORMS.get(form) or form.replace("dirichlet-", "gamma = ")


def is_table_comparable(table: str, models: Iterable[str], benchmarks: Iterable[str]) -> bool:
    """Whether the paper prints values for a table of these models and benchmarks."""
    return TABLES[table].is_comparable(models, benchmarks)


class AmbiguityExhibitSettings(TypedDict):
    """Settings of all exhibits and the page of this analysis.

    `source` is the name of the benchmarks' own counts, `epsilon` the probability of an answer that no sample gave,
    `grouping` the way answers were grouped.
    """

    label: str
    models: list[str]
    benchmarks: list[str]
    source: str
    epsilon: float
    grouping: str


AUC_NOTE = (
    "AUC_c: P(EU_i > EU_j | estimator_i > estimator_j); 0.5 is chance. Pairs with equal estimators are left out; pairs "
    "with equal epistemic uncertainty (EU) count half."
)
COMMON_NOTE = "All estimators of a row are compared on the same items: those with values of all available estimators."
INTERVAL_NOTE = "from, to: 95 % interval, normal, its variance by the infinitesimal jackknife over items."


def describe_method(settings: AmbiguityExhibitSettings) -> str:
    """A note on the computation of the uncertainties."""
    return (
        f"Answers were grouped, and classes found among the right answers, by the backend {settings['grouping']}; an "
        f"answer that no sample gave has p = {settings['epsilon']:g}, and p is not renormalised, so EU can be "
        "slightly negative."
    )
