"""What exhibits of this analysis are told, and notes that stand below several of them."""

from typing import TypedDict


class AmbiguityShown(TypedDict):
    """What all exhibits and the page are told.

    `source` is what the benchmarks' own counts are called, `epsilon` what is put in for an answer that no sample gave,
    `grouping` how answers were grouped.
    """

    label: str
    models: list[str]
    benchmarks: list[str]
    source: str
    epsilon: float
    grouping: str


AUC_NOTE = (
    "AUC_c: P(EU_i > EU_j | estimator_i > estimator_j), 0.5 is chance. Pairs with equal estimators are left out, pairs "
    "with equal epistemic uncertainty (EU) count half."
)
COMMON_NOTE = "All estimators of a row are compared on the same items: those that have every estimator that any has."
INTERVAL_NOTE = "from, to: 95 % interval, normal, its variance by the infinitesimal jackknife over items."


def made_note(settings: AmbiguityShown) -> str:
    """How the uncertainties were made."""
    return (
        f"Answers were grouped, and classes found among the right answers, by the backend {settings['grouping']}; an "
        f"answer that no sample gave has p = {settings['epsilon']:g}, and p is not scaled again, so that EU can be "
        "below 0 by a little."
    )
