"""What models believe: coverage by log-probabilities, and how narrow a view their answers show."""

import polars as pl

from entropy_sentinel.analyses.intervals.catalogue import BASES, PUBLISHED, TEST, level_title
from entropy_sentinel.analyses.intervals.headings import WORDS, end_note
from entropy_sentinel.analyses.intervals.tunnel import perception_size
from entropy_sentinel.report.tables import Table, headed, number_frame


def table_3_coverage(sets: pl.DataFrame) -> Table:
    """Coverage by log-probabilities, beside that of the stated intervals of the same questions."""
    headings = {
        "model": "Model",
        "level": "Level",
        "basis": "Distribution",
        "n": "Questions",
        "missing": "Mass left out",
        "in_set": "In set",
        "in_hull": "In hull",
        "temperature": "T*",
        "in_scaled_hull": "In hull at T*",
        "base": "Base",
        "n_base": "Base: questions",
    }
    beside = {
        "level": "Level",
        "base": "Base",
        "base_coverage": "Base: paper",
        "in_set": "In set",
        "in_scaled_hull": "In hull at T*",
        "logprob_coverage": "Log-probabilities: paper",
    }
    printed = pl.read_csv(PUBLISHED / "table_3_coverage.csv", schema_overrides={"level": pl.Float64})
    ours = sets.filter(model="gpt-4o-mini", basis="first_token")
    both = printed.join(ours, on="level", how="inner", maintain_order="left")
    return Table(
        "Share of the right answers in the smallest set of likely integers, and in its hull, on the test half.",
        headed(sets, headings, WORDS),
        (
            "Distribution: " + "; ".join(f"{name}: {said}" for name, said in BASES.items()) + ".",
            "Mass left out: mean probability of all else that the model could say; the distributions are normalised "
            "without it.",
            "T*: the one temperature whose mean score over all levels is lowest on the calibration half.",
            *dict.fromkeys(
                end_note(f"{row['model']}, {row['basis']}", row["temperature"], row["temperature_end"])
                for row in sets.drop_nulls("temperature_end").iter_rows(named=True)
            ),
        ),
        published=Table("Coverage of gpt-4o-mini here and as the paper printed it.", headed(both, beside, WORDS)),
    )


def table_perception(scores: pl.DataFrame) -> Table:
    """The perception size beta of each model, from the coverage of its stated intervals at all levels."""
    rows = scores.filter(half=TEST, method="base").drop_nulls("coverage").sort("level")
    levels = rows["level"].unique().sort().to_list()
    found = []
    for (model,), own in rows.group_by("model", maintain_order=True):
        at = {level_title(level): held for level, held in own.select("level", "coverage").iter_rows()}
        found.append({"Model": model, **at, "beta": perception_size(own["level"] / 100, own["coverage"])})
    return Table(
        "Coverage of the stated intervals by level, and the share of its own distribution that a model would then see.",
        number_frame(found, ["Model"], [*map(level_title, levels), "beta"]),
        (
            "beta: the sum of the coverages over that of the levels, at most 1. If the theory of the tunnel held, "
            "coverage would be beta times the level. A belief that is wrong counts as tunnel too.",
        ),
    )


def table_tunnel_index(tunnel_index: pl.DataFrame) -> Table:
    """The empirical tunnel index by the number of sampled answers."""
    headings = {
        "model": "Model",
        "temperature": "Temperature",
        "m": "Answers",
        "n": "Questions",
        "entropy": "H of the distribution",
        "index": "Tunnel index",
        "lower": "from",
        "upper": "to",
    }
    return Table(
        "Entropy of the model's distribution over integers minus that of m sampled answers, in nats: means over the "
        "test half.",
        headed(tunnel_index, headings),
        (
            "Appendix G of the paper, where an answer is all that a reasoning trace leaves: with one answer the index "
            "is the whole entropy, and it falls with their number.",
            "from, to: 95 % interval by bootstrap over questions.",
        ),
    )
