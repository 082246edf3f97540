"""Stages `items` and `truncation`: the variety of each item's samples, and the measures of its first response.

Entropies are in bits, over the answers to one question (Zhu et al., Uncertainty Under the Curve, 2025, section 3.1).
Truncation is the probability outside the 20 most likely tokens, over all positions.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.schemas.arrow_lists import flatten_lists
from entropy_sentinel.schemas.contract import check_readable, read_provenance
from entropy_sentinel.schemas.response_schema import RESPONSE
from entropy_sentinel.statistics.array_types import Numbers
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS
from papers.entropy_area.area_exhibits import ALL_BENCHMARKS, ANSWERS, AREA_MEASURES, list_area_measures
from papers.entropy_area.area_frames import ANSWER_CLASSES, ITEMS, RESPONSES, TRUNCATION


def entropy_bits(counts: Numbers) -> float:
    """The entropy of the shares of these counts, (n_classes,), in bits; classes with count 0 contribute nothing.

    Raises ValueError if all counts are 0.
    """
    weights = np.asarray(counts, dtype=float)
    if not weights.sum() > 0:
        raise ValueError("at least one count must be above 0, got only 0")
    shares = weights[weights > 0] / weights.sum()
    # Otherwise the entropy of one class would be -0.0.
    return abs(float(-(shares * np.log2(shares)).sum()))


def answer_entropy(answers: Sequence[Hashable | None], unreadable: bool = True) -> float | None:
    """The entropy in bits of the answers to one question, (n_samples,); equal values are the same answer.

    None is a sample without a readable answer: these form one class, or, with `unreadable` false, are left out. Returns
    None if nothing is left.
    """
    counted_answers = [answer for answer in answers if unreadable or answer is not None]
    if not counted_answers:
        return None
    return entropy_bits([counted_answers.count(answer) for answer in dict.fromkeys(counted_answers)])


def correctness_entropy(n_correct: int, n_samples: int) -> float:
    """The entropy of being correct, in bits, for `n_correct` of `n_samples` answers to one question."""
    if not 0 <= n_correct <= n_samples:
        raise ValueError(f"n_correct must be between 0 and n_samples {n_samples}, got {n_correct}")
    return entropy_bits([n_correct, n_samples - n_correct])


def write_items(
    answers: Sequence[str], features: Sequence[str], passes: Sequence[str], by_response_output: str, by_item_output: str
) -> None:
    """Write the measures of all responses of one model (RESPONSES), and those of its items (ITEMS).

    `answers`, `features` and `passes` are files ANSWER_CLASSES, FEATURE_FRAME and FORCED_ANSWERS of its benchmarks.
    """
    responses = join_measures(
        pl.concat(map(ANSWER_CLASSES.read, answers)),
        pl.concat(FEATURE_FRAME.read(path, [*RESPONSE, "ppl", "n_tokens"]) for path in features),
        pl.concat(FORCED_ANSWERS.read(path, [*RESPONSE, "answer", *AREA_MEASURES]) for path in passes),
    )
    provenance = {"model": responses["model"][0]} if len(responses) else {}
    RESPONSES.write(responses, by_response_output, provenance)
    ITEMS.write(summarise_items(responses), by_item_output, provenance)


def join_measures(answers: pl.DataFrame, features: pl.DataFrame, forced: pl.DataFrame) -> pl.DataFrame:
    """A frame of contract RESPONSES: a row for each of `answers` (ANSWER_CLASSES), with features and entropy areas.

    `forced` has RESPONSE, `answer` (which one was inserted) and AREA_MEASURES; without a row for a response, its areas
    are null.
    """
    responses = answers.select(*RESPONSE, "label", "answer_class").join(
        features, on=RESPONSE, how="left", maintain_order="left", validate="1:1"
    )
    for answer in ANSWERS:
        column_names = {name: f"{name}_{answer}" for name in AREA_MEASURES}
        answer_areas = forced.filter(answer=answer).select(*RESPONSE, *AREA_MEASURES).rename(column_names)
        responses = responses.join(answer_areas, on=RESPONSE, how="left", maintain_order="left", validate="1:1")
    return responses.select(RESPONSES.schema.names())


def summarise_items(responses: pl.DataFrame) -> pl.DataFrame:
    """A frame of contract ITEMS from a frame RESPONSES: counts and entropies of all samples, measures of the first.

    The first response to an item has the lowest sample number.
    """
    rows = []
    for item_key, item_rows in responses.sort(RESPONSE).group_by(ITEMS.key, maintain_order=True):
        answers = item_rows["answer_class"].to_list()
        n_correct = int(item_rows["label"].fill_null(False).sum())
        first = item_rows.row(0, named=True)
        sample_columns = {
            "n_samples": len(item_rows),
            "n_unreadable": answers.count(None),
            "n_answers": len({*answers} - {None}),
            "accuracy": n_correct / len(item_rows),
            "answer_entropy": answer_entropy(answers),
            "answer_entropy_readable": answer_entropy(answers, unreadable=False),
            "correctness_entropy": correctness_entropy(n_correct, len(item_rows)),
        }
        first_columns = {
            name: first[name] for name in ("sample", *list_area_measures(list(ANSWERS)), "ppl", "n_tokens")
        }
        rows.append(dict(zip(ITEMS.key, item_key, strict=True)) | sample_columns | first_columns)
    return ITEMS.frame(rows)


_QUANTILES = {"q90": 0.9, "q95": 0.95, "q99": 0.99}
_COLUMNS = ("missing_masses", "bounds", "entropies")


def write_truncation(passes: Sequence[str], sets: Mapping[str, Sequence[str]], output: str) -> None:
    """Write a file TRUNCATION: mean and quantiles over all positions of a model's responses, by set of benchmarks.

    `passes` are files FORCED_ANSWERS of one model; `sets` are benchmarks by the name under which they are shown. If
    there are several, there are also rows for all benchmarks together.
    """
    by_benchmark = {read_provenance(path)["benchmark"]: path for path in passes}
    model = read_provenance(passes[0])["model"]
    benchmark_sets: dict[str, Sequence[str]] = dict(sets)
    if len(sets) > 1:
        benchmark_sets[ALL_BENCHMARKS] = list(by_benchmark)
    rows = []
    for name, benchmarks in benchmark_sets.items():
        statistic_rows = compute_truncation([by_benchmark[benchmark] for benchmark in benchmarks])
        rows += [{"model": model, "benchmark": name} | row for row in statistic_rows]
    TRUNCATION.write(TRUNCATION.frame(rows), output, {"model": model})


def compute_truncation(passes: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield rows of TRUNCATION, without model and benchmark, over all positions of these files FORCED_ANSWERS.

    They show what is lost by seeing only the top 20 tokens: mean and quantiles, over the positions, of the missing
    mass, of the bound on the entropy that it hides, and of the entropy.

    A high quantile of the missing mass is a low `top_20_mass`. Quantiles of the missing mass and of the bound are
    separate, so they may be from different positions.
    """
    lazy = pl.concat(FORCED_ANSWERS.scan(path).select("answer", *_COLUMNS) for path in passes)
    for answer in ANSWERS:
        with check_readable(passes[0], FORCED_ANSWERS.stage):
            responses = lazy.filter(answer=answer).drop_nulls("bounds").select(_COLUMNS).collect()
        if not len(responses):
            continue
        positions = {name: flatten_lists(responses[name]).to_numpy().astype(float) for name in _COLUMNS}
        answer_fields = {"answer": answer, "n_responses": len(responses), "n_positions": len(positions["bounds"])}
        statistics = {"mean": {name: float(np.mean(values)) for name, values in positions.items()}}
        for statistic, share in _QUANTILES.items():
            statistics[statistic] = {name: float(np.quantile(values, share)) for name, values in positions.items()}
        for statistic, value_by_column in statistics.items():
            yield answer_fields | {
                "statistic": statistic,
                "top_20_mass": 1 - value_by_column["missing_masses"],
                "bound_bits": value_by_column["bounds"],
                "entropy": value_by_column["entropies"],
            }
