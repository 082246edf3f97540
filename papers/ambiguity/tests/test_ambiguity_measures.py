"""Uncertainties, estimators, concordances and AUROCs of made-up models, worked out again by other code."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ambiguous_rows import EXACT, of_item, semantics, write_family, write_items
from papers.ambiguity.ambiguity_frames import AUROCS, CONCORDANCES, ESTIMATES, P_STARS, UNCERTAINTIES
from papers.ambiguity.ambiguity_measures import write_measures
from papers.ambiguity.ambiguity_tables import summarise_p_stars
from papers.ambiguity.class_alignment import write_aligned_classes
from papers.ambiguity.concordance import measure_concordance
from papers.ambiguity.item_uncertainties import write_uncertainties
from scipy import stats
from scipy.spatial.distance import jensenshannon
from sklearn.metrics import roc_auc_score

N_ITEMS, K = 40, 12
NAMES = ("ada", "bob", "cid", "dot")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One model on 40 items, every fourth with one answer; SAR is not run, MSP lacks two items, and IP has none."""
    folder, rng = tmp_path_factory.mktemp("made"), np.random.default_rng(12)
    items, places, further = [], [], []
    for place in range(N_ITEMS):
        n_answers = 1 if place % 4 == 0 else int(rng.integers(2, 4))
        counts = rng.integers(1, 60, n_answers).astype(float).tolist()
        items.append((f"question {place}?", [[name] for name in NAMES[:n_answers]], counts))
        further.append({"question": f"question {place}?", "answers": list(NAMES[:n_answers])})
        further[-1]["counts"] = rng.integers(0 if place == 1 else 1, 9, n_answers).tolist()
        # Samples among some of the names, right or not, and now and then something else.
        message = rng.choice([*NAMES[: int(rng.integers(1, 5))], "x"], size=K)
        number = {text: at for at, text in enumerate(dict.fromkeys(message))}
        places.append([(str(text), number[text], float(rng.uniform(0.01, 1))) for text in message])
    further[1]["counts"] = [0, *further[1]["counts"][1:]]
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in further))
    benchmark = write_items(folder / "items.parquet", "b", items)
    msp = [None if place in (2, 3) else round(float(rng.random()), 1) for place in range(N_ITEMS)]
    signals = [
        write_family(folder / "semantics.parquet", "semantics", "m", "b", semantics(places)),
        write_family(folder / "msp.parquet", "beam_search", "m", "b", of_item("beam_search", "msp", msp, K, "refused")),
        write_family(
            *(folder / "ip.parquet", "iterative_prompting", "m", "b"),
            of_item("iterative_prompting", "ip", [None] * N_ITEMS, K, "a server has no log-probabilities of prompts"),
        ),
    ]
    files = {name: str(folder / f"{name}.parquet") for name in ("aligned", "u", "e", "c", "a", "p")}
    write_aligned_classes(benchmark, signals[0], {"corpus": str(corpus)}, "own", EXACT, files["aligned"])
    write_uncertainties([files["aligned"]], signals, {"epsilon": 0.01, "gammas": [1, 100]}, files["u"], files["e"])
    settings: Any = {"source": "own", "thresholds": [1.5, 3]}
    write_measures([files["u"]], [files["e"]], [files["aligned"]], ["m"], settings, files["c"], files["a"], files["p"])
    return {"items": items, "places": places, "msp": msp, "further": further, **files}


def model_p(samples: list[tuple[str, int, float]]) -> dict[str, float]:
    total = sum(p for *_, p in samples)
    return {text: sum(p for t, _, p in samples if t == text) / total for text, *_ in samples}


def divergence(item: tuple[str, list[list[str]], list[float]], p: dict[str, float]) -> float:
    """KL(p* || p) by hand, 0.01 for what is missing."""
    _, answers, counts = item
    shares = np.array(counts) / sum(counts)
    return float(
        sum(share * math.log(share / p.get(name, 0.01)) for share, (name,) in zip(shares, answers, strict=True))
    )


def test_uncertainties_by_hand(made: dict[str, Any]) -> None:
    rows = UNCERTAINTIES.read(made["u"]).filter(source="own")
    result = rows.filter(form="kl")
    expected = [divergence(item, model_p(samples)) for item, samples in zip(made["items"], made["places"], strict=True)]
    assert result["epistemic"].to_list() == pytest.approx(expected, abs=1e-12)
    entropies = [stats.entropy(counts) for _, _, counts in made["items"]]
    assert result["aleatoric"].to_list() == pytest.approx(entropies, abs=1e-12)
    assert result["total"].to_list() == pytest.approx((result["aleatoric"] + result["epistemic"]).to_list(), abs=1e-12)
    missing = [
        sum(name not in model_p(samples) for (name,) in answers)
        for (_, answers, _), samples in zip(made["items"], made["places"], strict=True)
    ]
    assert result["n_imputed"].to_list() == missing
    assert 0 < sum(map(bool, missing)) < N_ITEMS
    # Frequencies: each sample counts the same.
    alike = [model_p([(text, number, 1.0) for text, number, _ in samples]) for samples in made["places"]]
    equal = [divergence(item, p) for item, p in zip(made["items"], alike, strict=True)]
    assert rows.filter(form="kl-frequencies")["epistemic"].to_list() == pytest.approx(equal, abs=1e-12)
    # What is put in makes the sum of p larger: scaled, every probability is less, and EU more by its logarithm.
    scaled = [one + math.log(1 + 0.01 * n) for one, n in zip(expected, missing, strict=True)]
    assert rows.filter(form="kl-renormalised")["epistemic"].to_list() == pytest.approx(scaled, abs=1e-12)
    near = rows.filter(form="dirichlet-100")["epistemic"] - result["epistemic"]
    far = rows.filter(form="dirichlet-1")["epistemic"] - result["epistemic"]
    assert near.abs().max() < 0.05 < far.abs().max()


def test_estimators_of_items(made: dict[str, Any]) -> None:
    result = ESTIMATES.read(made["e"])
    shares = [list(model_p(samples).values()) for samples in made["places"]]
    assert result["se"].to_list() == pytest.approx([stats.entropy(share) for share in shares], abs=1e-12)
    counts = [np.unique([text for text, *_ in samples], return_counts=True)[1] for samples in made["places"]]
    assert result["se_frequencies"].to_list() == pytest.approx([stats.entropy(count) for count in counts], abs=1e-12)
    assert result["n_classes"].to_list() == [len(share) for share in shares]
    assert set(result["n_samples"]) == {K}
    assert result["msp"].to_list() == made["msp"]
    assert result["msp_reason"].to_list()[2:5] == ["refused", "refused", None]
    assert set(result["sar_reason"]) == {"run.features has no sar"}
    assert set(result["ip_reason"]) == {"a server has no log-probabilities of prompts"}


def of_kind(made: dict[str, Any], answers: str) -> list[int]:
    """The items of this kind that have all estimators that any has: those without MSP are not compared."""
    return [
        place
        for place, (_, names, _) in enumerate(made["items"])
        if (len(names) == 1) == (answers == "one") and made["msp"][place] is not None
    ]


@pytest.mark.parametrize("answers", ["one", "several"])
def test_concordances_are_of_the_items_that_have_all_estimators(made: dict[str, Any], answers: str) -> None:
    rows = CONCORDANCES.read(made["c"]).filter(source="own", form="kl", answers=answers)
    assert rows["estimator"].to_list() == ["se", "msp", "sar", "ip", "se_frequencies"]
    places = of_kind(made, answers)
    epistemic = [divergence(made["items"][at], model_p(made["places"][at])) for at in places]
    entropies = [stats.entropy(list(model_p(made["places"][at]).values())) for at in places]
    for name, values in (("se", entropies), ("msp", [made["msp"][at] for at in places])):
        row, expected = rows.filter(estimator=name).row(0, named=True), measure_concordance(values, epistemic)
        assert row["n_items"] == len(places)
        for part in ("auc_c", "lower", "upper", "tied", "alike"):
            assert row[part] == pytest.approx(getattr(expected, part), abs=1e-12)
    assert rows.filter(estimator="sar")["reason"][0] == "run.features has no sar"
    assert rows.filter(estimator="ip")["reason"][0] == "a server has no log-probabilities of prompts"


def test_aurocs_are_those_of_scikit_learn(made: dict[str, Any]) -> None:
    rows = AUROCS.read(made["a"]).filter(answers="several", threshold=3)
    places = of_kind(made, "several")
    uncertain = [divergence(made["items"][at], model_p(made["places"][at])) >= math.log(3) for at in places]
    row = rows.filter(estimator="msp").row(0, named=True)
    assert 0 < sum(uncertain) < len(uncertain)
    assert (row["n_items"], row["n_uncertain"]) == (len(places), sum(uncertain))
    assert row["auroc"] == pytest.approx(roc_auc_score(uncertain, [made["msp"][at] for at in places]), abs=1e-12)
    assert rows.filter(estimator="sar")["auroc"][0] is None
    # Every one of these items is uncertain by the lower threshold.
    low = AUROCS.read(made["a"]).filter(answers="several", threshold=1.5, estimator="msp").row(0, named=True)
    assert (low["auroc"], low["reason"]) == (None, "no item is below it")


def test_what_p_star_is_like(made: dict[str, Any]) -> None:
    rows = P_STARS.read(made["p"])
    own, corpus = rows.filter(source="own"), rows.filter(source="corpus")
    assert (len(own), len(corpus)) == (N_ITEMS, N_ITEMS - 1)  # one item has a count of 0
    assert own["entropy"].to_list() == pytest.approx([stats.entropy(counts) for *_, counts in made["items"]], abs=1e-12)
    theirs = {row["question"]: row["counts"] for row in made["further"]}
    for item, result in corpus.select("item_id", "divergence").iter_rows():
        question, _, counts = made["items"][int(item[-5:])]
        assert result == pytest.approx(jensenshannon(counts, theirs[question]) ** 2, abs=1e-12)
    assert own["divergence"].null_count() == N_ITEMS
    shown = summarise_p_stars(rows).row(0, named=True)
    every = [count for *_, counts in made["items"] for count in counts]
    assert (shown["benchmark"], shown["source"], shown["n"]) == ("b", "own", N_ITEMS)
    assert (shown["count_mean"], shown["count_sd"]) == pytest.approx((np.mean(every), np.std(every, ddof=1)))
    assert shown["entropy_sd"] == pytest.approx(np.std([stats.entropy(one) for *_, one in made["items"]], ddof=1))


def test_equal_answers_have_no_posterior(tmp_path: Path) -> None:
    """Without counts p* is taken as uniform; there is nothing to believe more or less."""
    items = write_items(tmp_path / "i.parquet", "b", [("q", [["ada"], ["bob"]], None)])
    rows = semantics([[("ada", 0, 0.5), ("bob", 1, 0.5)]])
    path = write_family(tmp_path / "s.parquet", "semantics", "m", "b", rows)
    files = [str(tmp_path / f"{name}.parquet") for name in ("aligned", "u", "e")]
    write_aligned_classes(items, path, {}, "own", EXACT, files[0])
    write_uncertainties(files[:1], [path], {"epsilon": 0.01, "gammas": [1]}, *files[1:])
    result = UNCERTAINTIES.read(files[1])
    assert result["form"].to_list() == ["kl", "kl-renormalised", "kl-frequencies"]
    assert result["epistemic"].to_list() == pytest.approx([0, 0, 0], abs=1e-12)
    assert result["aleatoric"].to_list() == pytest.approx([math.log(2)] * 3)
