"""The strategies of this analysis, and its tables and figures: names and titles.

`TABLE_FUNCTIONS` (`tables.py`) and `FIGURE_FUNCTIONS` (`figures.py`) map each name to its function.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Strategy:
    """A way to choose: by `score`, a column of the candidates, largest or `lowest` first; at random without a score."""

    title: str
    meaning: str
    score: str = ""
    lowest: bool = False


STRATEGIES: dict[str, Strategy] = {
    "random": Strategy("Random", "drawn by the seed, all candidates equally likely"),
    "longest": Strategy("Longest", "most tokens in the response", "n_tokens"),
    "pass-rate": Strategy(
        "Lowest pass rate",
        "smallest share of correct tries, without items whose tries are all correct or all wrong",
        "pass_rate",
        lowest=True,
    ),
    "eas": Strategy("Highest EAS", "largest entropy area score of the response", "eas"),
}

TABLES: dict[str, str] = {
    "selections": "What each strategy selects",
    "overlap": "Overlap of the selections",
    "domains": "Benchmarks of the selections",
}

FIGURES: dict[str, str] = {"selections": "Overlap, difficulty and length of the selections"}
