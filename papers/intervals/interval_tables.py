"""The tables of the catalogue, from the files of all models; those of scores are in score_tables.py."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from entropy_sentinel.rendering.exhibit_files import ExhibitInputs, save_tables
from entropy_sentinel.rendering.table_exhibit import Table, number_frame, select_headings
from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.file_sets import read_all
from papers.intervals.interval_exhibits import (
    BASES,
    PUBLISHED_FOLDER,
    REASONS,
    TABLES,
    TEST,
    VALUE_FORMATS,
    IntervalsExhibitSettings,
    end_note,
    level_title,
)
from papers.intervals.interval_frames import (
    ADJUSTED_INTERVALS,
    DIFFERENCES,
    INTEGER_ANSWERS,
    SCORES,
    SETS,
    STATED_INTERVALS,
    TUNNEL_INDEX,
)
from papers.intervals.perception_tunnel import perception_size

# Questions of Table 1, the first of the test half.
N_EXAMPLES = 5


@dataclass(frozen=True, kw_only=True)
class IntervalsTableInputs(ExhibitInputs):
    """The benchmarks' questions with their answers, `items`, and frames of the contracts in interval_frames.py."""

    items: pl.DataFrame
    stated: pl.DataFrame
    integers: pl.DataFrame
    adjusted: pl.DataFrame
    scores: pl.DataFrame
    differences: pl.DataFrame
    sets: pl.DataFrame
    tunnel_index: pl.DataFrame


def table_1_examples(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the first questions of the test half, the right exponent, and what each model states at each level."""
    stated = inputs.adjusted.filter(half=TEST, method="base")
    levels = stated["level"].unique().sort().to_list()
    example_items = stated["item_id"].unique(maintain_order=True).head(N_EXAMPLES)
    intervals = {}
    for row in stated.drop_nulls("lower").iter_rows(named=True):
        intervals[row["item_id"], row["model"], row["level"]] = f"[{row['lower']:g}, {row['upper']:g}]"
    rows = []
    for item, question, answer in inputs.items.select("item_id", "question", "reference").iter_rows():
        if item not in example_items:
            continue
        for model in stated["model"].unique(maintain_order=True):
            cells = {"Question": question, "Answer": int(answer), "Model": model}
            for level in levels:
                cells[level_title(level)] = intervals.get((item, model, level), "-")
            rows.append(cells)
    headings = ["Question", "Answer", "Model", *map(level_title, levels)]
    return Table(
        "Questions of the test half, their answers as powers of ten, and the intervals that models state.",
        pl.DataFrame(rows, schema=headings, infer_schema_length=None),
        (f"The first {N_EXAMPLES} questions. -: the answer could not be read, or an end is too far from 0.",),
    )


def table_parsing(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the share of answers that are used for every variant and benchmark, and why the others are not."""
    keys, numbers = ["Variant", "Asked for", "Benchmark"], ["Answers", "Used", *REASONS.values()]
    rows = [*_compute_shares(inputs.stated, "level"), *_compute_shares(inputs.integers, "temperature")]
    return Table(
        "Share of all samples whose answer is used, and of the others by reason.",
        number_frame(rows, keys, numbers),
        (
            "An interval is the last JSON object of a complete response: integers L and U, L at most "
            "U, and nothing else. An integer must be the whole response.",
            "too far from 0: the answer can be read, but an end, or the integer, is beyond `farthest`. All other "
            "reasons: it cannot be read. Both count neither as wrong nor as covered.",
        ),
    )


def _compute_shares(answers: pl.DataFrame, axis: str) -> Iterator[dict[str, object]]:
    """Yield a row of the table for each variant (model of the config), level or temperature, and benchmark.

    `answers` is a frame STATED_INTERVALS with `axis` "level", or INTEGER_ANSWERS with "temperature".
    """
    for (variant, value, benchmark), group_answers in answers.group_by("model", axis, "benchmark", maintain_order=True):
        request = f"{value:g} %" if axis == "level" else f"integer, temperature {value:g}"
        yield {
            "Variant": variant,
            "Asked for": request,
            "Benchmark": benchmark,
            "Answers": len(group_answers),
            "Used": group_answers["reason"].null_count() / len(group_answers),
            **{
                title: len(group_answers.filter(reason=reason)) / len(group_answers)
                for reason, title in REASONS.items()
            },
        }


def table_3_coverage(inputs: IntervalsTableInputs) -> Table:
    """Tabulate coverage by log-probabilities, and of the stated intervals for the same questions."""
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
    comparison = {
        "level": "Level",
        "base": "Base",
        "base_coverage": "Base: paper",
        "in_set": "In set",
        "in_scaled_hull": "In hull at T*",
        "logprob_coverage": "Log-probabilities: paper",
    }
    paper_rows = pl.read_csv(PUBLISHED_FOLDER / "table_3_coverage.csv", schema_overrides={"level": pl.Float64})
    study_rows = inputs.sets.filter(model="gpt-4o-mini", basis="first_token")
    joined = paper_rows.join(study_rows, on="level", how="inner", maintain_order="left")
    notes = []
    for row in inputs.sets.drop_nulls("temperature_end").iter_rows(named=True):
        notes.append(end_note(f"{row['model']}, {row['basis']}", row["temperature"], row["temperature_end"]))
    return Table(
        "Share of the right answers in the smallest set of likely integers, and in its hull, on the test half.",
        select_headings(inputs.sets, headings, VALUE_FORMATS),
        (
            "Distribution: " + "; ".join(f"{name}: {meaning}" for name, meaning in BASES.items()) + ".",
            "Mass left out: mean probability of all other possible outputs, and of integers beyond `farthest`; the "
            "distributions are normalised without it.",
            "T*: the one temperature whose mean score over all levels is lowest on the calibration half.",
            *dict.fromkeys(notes),
        ),
        published=Table(
            "Coverage of gpt-4o-mini here and in the paper.", select_headings(joined, comparison, VALUE_FORMATS)
        ),
    )


def table_perception(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the perception size beta of each model, from the coverage of its stated intervals at all levels."""
    rows = inputs.scores.filter(half=TEST, method="base").drop_nulls("coverage").sort("level")
    levels = rows["level"].unique().sort().to_list()
    sizes = []
    for (model,), model_rows in rows.group_by("model", maintain_order=True):
        by_level = {
            level_title(level): coverage for level, coverage in model_rows.select("level", "coverage").iter_rows()
        }
        sizes.append(
            {"Model": model, **by_level, "beta": perception_size(model_rows["level"] / 100, model_rows["coverage"])}
        )
    return Table(
        "Coverage of the stated intervals by level, and the share of its own distribution that a model then sees.",
        number_frame(sizes, ["Model"], [*map(level_title, levels), "beta"]),
        (
            "beta: the sum of the coverages over that of the levels, at most 1. If the theory of the tunnel held, "
            "coverage would be beta times the level. Wrong beliefs also count as tunnel.",
        ),
    )


def table_tunnel_index(inputs: IntervalsTableInputs) -> Table:
    """Tabulate the empirical tunnel index by the number of sampled answers."""
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
        select_headings(inputs.tunnel_index, headings),
        (
            "Appendix G of the paper, where each reasoning trace gives only an answer: with one answer the index "
            "is the whole entropy, and it falls as their number grows.",
            "from, to: 95 % interval by bootstrap over questions.",
        ),
    )


def write_tables(
    benchmarks: Sequence[str],
    stated: Sequence[str],
    integers: Sequence[str],
    adjusted: str,
    scores: str,
    differences: str,
    sets: str,
    tunnel_index: str,
    settings: IntervalsExhibitSettings,
    tables: Sequence[str],
    folder: str,
) -> None:
    """Write the tables of these names to `folder`, from this analysis' files (interval_frames.py)."""
    inputs = IntervalsTableInputs(
        label=settings["label"],
        items=pl.concat(BENCHMARKS.read(path, ["item_id", "question", "reference"]) for path in benchmarks),
        stated=read_all(STATED_INTERVALS, stated),
        integers=read_all(INTEGER_ANSWERS, integers),
        adjusted=ADJUSTED_INTERVALS.read(adjusted),
        scores=SCORES.read(scores),
        differences=DIFFERENCES.read(differences),
        sets=SETS.read(sets),
        tunnel_index=TUNNEL_INDEX.read(tunnel_index),
    )
    save_tables(TABLES, tables, inputs, folder)
