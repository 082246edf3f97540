"""Stage `measures`: how well estimators rank and separate items by what a model does not know; what p* is like."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import polars as pl

from entropy_sentinel.analyses.ambiguity.catalogue import COMPARED, KL
from entropy_sentinel.analyses.ambiguity.concordance import concordance, separation
from entropy_sentinel.analyses.ambiguity.frames import ALIGNED, AUROCS, CONCORDANCES, ESTIMATES, P_STARS, UNCERTAINTIES
from entropy_sentinel.analyses.ambiguity.uncertainty import jensen_shannon, uncertainty
from entropy_sentinel.analyses.exhibits import read_several
from entropy_sentinel.sources.fields import normalised


def p_stars(answers: pl.DataFrame, source: str) -> Iterator[dict[str, Any]]:
    """Rows of P_STARS from the right answers of a frame ALIGNED; p* does not depend on the model.

    The divergence is from the benchmark's own, `source`, over the answers of either; names are the same up to case,
    punctuation, articles and space.
    """
    distinct = answers.unique(subset=[*P_STARS.key, "class"], keep="first", maintain_order=True)
    by_item = dict(distinct.group_by(P_STARS.key, maintain_order=True))
    for (benchmark, name, item), own in by_item.items():
        shares = own["p_star"].to_numpy()
        first = by_item.get((benchmark, source, item))
        yield {
            "benchmark": benchmark,
            "source": name,
            "item_id": item,
            "n_answers": len(own),
            "counts": None if own["count"].has_nulls() else own["count"].to_list(),
            "entropy": uncertainty(shares, shares).aleatoric,
            "divergence": None if name == source or first is None else _divergence(_named(first), _named(own)),
        }


def _named(own: pl.DataFrame) -> dict[str, float]:
    return {normalised(name): share for name, share in own.select("name", "p_star").iter_rows()}


def _divergence(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    names = dict.fromkeys([*first, *second])
    return jensen_shannon(*(np.array([known.get(name, 0.0) for name in names]) for known in (first, second)))


# Items with one right answer, and with several.
KINDS: Mapping[str, pl.Expr] = {"one": pl.col("n_answers") == 1, "several": pl.col("n_answers") > 1}


class MeasureFiles(TypedDict):
    """Files of all models: uncertainties and estimators, one of each for a model; classes beside the answers."""

    uncertainties: Sequence[str]
    estimates: Sequence[str]
    aligned: Sequence[str]


class MeasureSettings(TypedDict):
    """`source` is what the benchmarks' own p* is called; uncertain is what has at least the log of a threshold."""

    source: str
    thresholds: list[float]


def write_measures(
    files: MeasureFiles,
    models: Sequence[str],
    settings: MeasureSettings,
    concordances_output: str,
    aurocs_output: str,
    p_stars_output: str,
) -> None:
    """Write concordances, AUROCs, and what p* is like."""
    rows = joined(
        read_several(UNCERTAINTIES, files["uncertainties"], {"model": models}),
        read_several(ESTIMATES, files["estimates"], {"model": models}),
    )
    about = {"settings": dict(settings)}
    CONCORDANCES.write(CONCORDANCES.frame(list(concordances(rows))), concordances_output, about)
    AUROCS.write(AUROCS.frame(list(aurocs(rows, settings))), aurocs_output, about)
    answers = pl.concat(ALIGNED.read(path).filter("right") for path in files["aligned"])
    P_STARS.write(P_STARS.frame(list(p_stars(answers, settings["source"]))), p_stars_output, about)


def joined(uncertainties: pl.DataFrame, estimates: pl.DataFrame) -> pl.DataFrame:
    """The uncertainties of each item, UNCERTAINTIES, with its estimators, ESTIMATES, beside them."""
    return uncertainties.join(estimates, on=ESTIMATES.key, how="left", maintain_order="left", validate="m:1")


def common(rows: pl.DataFrame) -> pl.DataFrame:
    """The items that have all estimators, except those estimators that no item has."""
    return rows.drop_nulls([name for name in COMPARED if rows[name].null_count() < len(rows)])


def concordances(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rows of CONCORDANCES from `joined` rows. All estimators are compared on the same items."""
    keys = ("model", "benchmark", "source", "form")
    for which, own in rows.group_by(keys, maintain_order=True):
        for answers, kind in KINDS.items():
            if not len(part := own.filter(kind)):
                continue
            compared = common(part)
            about = dict(zip(keys, which, strict=True)) | {"answers": answers, "n_items": len(compared)}
            for name in COMPARED:
                yield about | {"estimator": name} | _concordance(part, compared, name)


def _concordance(part: pl.DataFrame, compared: pl.DataFrame, name: str) -> dict[str, Any]:
    if reason := _lacking(part, name):
        return dict.fromkeys(("auc_c", "lower", "upper", "tied", "alike")) | {"reason": reason}
    result = concordance(compared[name], compared["epistemic"])._asdict()
    return {"auc_c": result.pop("value"), **result}


def aurocs(rows: pl.DataFrame, settings: MeasureSettings) -> Iterator[dict[str, Any]]:
    """Rows of AUROCS from `joined` rows: those of the paper's form and the benchmarks' own p*."""
    own = rows.filter(form=KL, source=settings["source"])
    for (model, benchmark), items in own.group_by("model", "benchmark", maintain_order=True):
        for answers, kind in KINDS.items():
            if not len(part := items.filter(kind)):
                continue
            compared = common(part)
            for threshold in settings["thresholds"]:
                uncertain = (compared["epistemic"] >= math.log(threshold)).sum()
                about = {"model": model, "benchmark": benchmark, "answers": answers, "threshold": threshold}
                about |= {"n_items": len(compared), "n_uncertain": uncertain}
                for name in COMPARED:
                    yield about | {"estimator": name} | _auroc(part, compared, name, threshold)


def _auroc(part: pl.DataFrame, compared: pl.DataFrame, name: str, threshold: float) -> dict[str, Any]:
    if reason := _lacking(part, name):
        return dict.fromkeys(("auroc", "lower", "upper")) | {"reason": reason}
    return separation(compared[name], compared["epistemic"], math.log(threshold))._asdict()


def _lacking(part: pl.DataFrame, name: str) -> str | None:
    """Say why no item has the estimator; None if at least one has it."""
    if part[name].null_count() < len(part):
        return None
    return str(part[f"{name}_reason"].drop_nulls().mode().sort()[0])
