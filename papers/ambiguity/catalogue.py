"""The tables and figures of this analysis, the estimators that it compares, the forms of the uncertainty, and notes.

The function of a table is called `table_<name>`, that of a figure `figure_<name>`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

# The paper's printed tables, with their models and benchmarks by the names in papers/ambiguity/study.yaml.
PUBLISHED = Path(__file__).with_name("published")
_SETS, _AMBIGUOUS = ("triviaqa", "maqa", "ambigqa"), ("maqa", "ambigqa")
_SIZES = ("gemma-3-1b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b")
_INSTRUCT = ("llama-3.1-8b-instruct", "gemma-3-12b-instruct", "qwen-2.5-14b-instruct", "gpt-4.1-mini")
PRINTED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "2_concordance": (("llama-3.1-8b", "qwen-2.5-14b", *_INSTRUCT, *_SIZES), _SETS),
    "3_dirichlet": (("gemma-3-12b",), _AMBIGUOUS),
    "4_sources": (("gemma-3-12b",), _AMBIGUOUS),
    "7_auroc": (("gemma-3-12b",), _SETS),
    # Without a model, because p* is the same for all.
    "8_p_star": ((), _AMBIGUOUS),
}


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
COMPARED: dict[str, str] = {name: estimator.title for name, estimator in ESTIMATORS.items()} | {
    BY_FREQUENCY: "SE, frequencies"
}

# How the uncertainties are computed; the forms of a Dirichlet posterior are `dirichlet-<gamma>`.
KL, FREQUENCIES = "kl", "kl-frequencies"
FORMS: dict[str, str] = {
    KL: "as in the paper",
    "kl-renormalised": "p scaled to add up to 1",
    FREQUENCIES: "p from the shares of the samples",
}

# Items by their number of right answers: with one answer, the aleatoric uncertainty is 0.
ANSWERS: dict[str, str] = {"one": "one (AU = 0)", "several": "several (AU > 0)"}

TABLES: dict[str, str] = {
    "1_examples": "Questions, answers and their probabilities",
    # Also the paper's Tables 5 and 6, which have the same columns for other models.
    "2_concordance": "Concordance with the epistemic uncertainty",
    "3_dirichlet": "Concordance with p* known only from its counts",
    "4_sources": "Concordance by where p* is from",
    "7_auroc": "AUROC for questions of large epistemic uncertainty",
    "8_p_star": "Statistics of p*",
    "forms": "Concordance by how p is computed",
    "intervals": "Every concordance with its interval",
}

FIGURES: dict[str, str] = {
    "1_bounds": "What entropy implies for questions with one answer",
    "2_p_star": "Entropy of p*",
    # One for each model.
    "3_relationship": "Epistemic uncertainty against the estimators",
    "4_collapse": "Mean entropy and epistemic uncertainty",
    "5_divergence": "Differences between sources of p*",
}


def dirichlet(gamma: float) -> str:
    """Return the name of a form: `dirichlet-0.5`, `dirichlet-10`."""
    return f"dirichlet-{gamma:g}"


def form_title(form: str) -> str:
    """Return the title of a form in tables: `gamma = 10`."""
    return FORMS.get(form) or form.replace("dirichlet-", "gamma = ")


def compared(table: str, models: Iterable[str], benchmarks: Iterable[str]) -> bool:
    """Return whether the paper prints values for a table of these models and benchmarks."""
    their_models, their_benchmarks = PRINTED.get(table, ((), ()))
    if not set(their_benchmarks) & set(benchmarks):
        return False
    return not their_models or bool(set(their_models) & set(models))


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


def made_note(settings: AmbiguityExhibitSettings) -> str:
    """Return a note on the computation of the uncertainties."""
    return (
        f"Answers were grouped, and classes found among the right answers, by the backend {settings['grouping']}; an "
        f"answer that no sample gave has p = {settings['epsilon']:g}, and p is not renormalised, so EU can be "
        "slightly negative."
    )
