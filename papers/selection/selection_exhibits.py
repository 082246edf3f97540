"""The strategies of this analysis, and its tables and figures: names and titles."""

from dataclasses import dataclass

from entropy_sentinel.rendering.exhibit_declarations import ExhibitDeclaration


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

TABLES: dict[str, ExhibitDeclaration] = {
    "selections": ExhibitDeclaration(
        "What each strategy selects", "papers.selection.selection_tables.table_selections"
    ),
    "overlap": ExhibitDeclaration("Overlap of the selections", "papers.selection.selection_tables.table_overlap"),
    "domains": ExhibitDeclaration("Benchmarks of the selections", "papers.selection.selection_tables.table_domains"),
}

FIGURES: dict[str, ExhibitDeclaration] = {
    "selections": ExhibitDeclaration(
        "Overlap, difficulty and length of the selections", "papers.selection.selection_figures.figure_selections"
    )
}
