"""What docs/ambiguity.md says of real answers to AmbigQA, recomputed from the committed files by other code."""

import json
import math
import re
import string
from collections import Counter
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOM = Path(__file__).parents[3] / "examples" / "ambigqa"
# As the backend `exact` has it: the sign and the point of a number stay.
MARKS = re.compile(rf"((?<!\w)-(?=\d)|(?<=\d)\.(?=\d))|[{re.escape(string.punctuation)}]")
# By model and kind: questions to which a sample gave a right answer, AUC_c of semantic entropy, and that by shares.
CASES = [
    ("qwen2.5-coder-0.5b", "single", 11, 0.50, 0.56),
    ("qwen2.5-coder-0.5b", "several", 11, 0.53, 0.55),
    ("qwen2.5-coder-1.5b", "single", 20, 0.54, 0.63),
    ("qwen2.5-coder-1.5b", "several", 20, 0.52, 0.59),
]


def bare(text: str) -> str:
    words = MARKS.sub(r"\1", text.lower()).split()
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def concordance(estimates: list[float], uncertainties: list[float]) -> float:
    """AUC_c, pair by pair."""
    pairs = combinations(zip(estimates, uncertainties, strict=True), 2)
    return float(
        np.mean(
            [
                0.5 if math.isclose(y, z) else float((x > w) == (y > z))
                for (x, y), (w, z) in pairs
                if not math.isclose(x, w, abs_tol=1e-12)
            ]
        )
    )


def entropy(p: dict) -> float:
    return -sum(share * math.log(share) for share in p.values())


@pytest.mark.parametrize(("model", "kind", "known", "auc_c", "by_shares"), CASES)
def test_the_page_says_what_the_answers_say(model: str, kind: str, known: int, auc_c: float, by_shares: float) -> None:
    rows = [json.loads(line) for line in (ROOM / f"benchmarks/ambigqa-{kind}.jsonl").read_text().splitlines()]
    traces = pl.read_parquet(ROOM / f"traces/{model}/ambigqa-{kind}.parquet")
    result: list[tuple[float, ...]] = []
    n_known = 0
    for (item,), own in traces.group_by("item_id", maintain_order=True):
        right = [set(map(bare, names)) for names in rows[int(str(item).rpartition("-")[2])]["answers"]]
        weights, counts = Counter(), Counter()
        for text, logprobs in own.select("text", "token_logprobs").iter_rows():
            name = bare(text)
            answer = next((number for number, names in enumerate(right) if name in names), name)
            weights[answer] += math.exp(sum(logprobs))
            counts[answer] += 1
        n_known += any(number in counts for number in range(len(right)))
        of_item = []
        for p in (weights, counts):
            shares = {answer: value / sum(p.values()) for answer, value in p.items()}
            ratios = (1 / len(right) / shares.get(number, 0.01) for number in range(len(right)))
            of_item += [entropy(shares), sum(map(math.log, ratios)) / len(right)]
        result.append(tuple(of_item))
    se, epistemic, se_by_shares, epistemic_by_shares = map(list, zip(*result, strict=True))
    assert n_known == known
    assert concordance(se, epistemic) == pytest.approx(auc_c, abs=0.005)
    assert concordance(se_by_shares, epistemic_by_shares) == pytest.approx(by_shares, abs=0.005)


def test_no_machine_is_named() -> None:
    files = [*ROOM.glob("traces/*/*.parquet"), *ROOM.glob("passes/*/*/*.parquet")]
    assert files
    for path in files:
        about = json.loads(pl.read_parquet_metadata(path)["entropy_sentinel"])
        assert about["weights"].startswith("weights/Qwen2.5-Coder-")
        assert not any(text.startswith("/") for text in json.dumps(about).split('"'))
