"""Speed of a training group's forest search against scikit-learn's grid search, side by side in one run.

The obvious way grows 9 settings x 5 folds = 45 forests per search; `search_forest` grows 5 and reads the narrower
settings off them. Run by `make bench-sweep`; prints one JSON object as its last line.
"""

import argparse
import json
import multiprocessing
import resource
import time
from collections.abc import Callable
from itertools import product

import numpy as np
from entropy_sentinel.estimators.forest_search import search_forest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold

DEPTHS, SPLITS = [3, 5, 10], [2, 5, 10]
FOLDS = StratifiedKFold(5, shuffle=True, random_state=42)


def make_forest(**setting: int) -> RandomForestClassifier:
    return RandomForestClassifier(100, class_weight="balanced_subsample", random_state=42, **setting)


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten features of which three matter, and labels with noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 10))
    return x, x[:, 0] + x[:, 2] * x[:, 4] + rng.normal(size=n) > 0.3


def ours(x: np.ndarray, y: np.ndarray) -> dict[str, int]:
    grid = [{"max_depth": depth, "min_samples_split": split} for depth, split in product(DEPTHS, SPLITS)]
    return search_forest(make_forest, x, y, FOLDS, grid)


def obvious(x: np.ndarray, y: np.ndarray) -> dict[str, int]:
    grid = {"max_depth": DEPTHS, "min_samples_split": SPLITS}
    return GridSearchCV(make_forest(), grid, scoring="roc_auc", cv=FOLDS, refit=False).fit(x, y).best_params_


def measure(search: Callable, n_rows: int, n_groups: int) -> dict:
    """CPU-seconds, peak memory and choices of one side, in a process of its own."""
    data = [rows(n_rows, seed) for seed in range(n_groups)]
    start, cpu = time.perf_counter(), time.process_time()
    chosen = [search(x, y) for x, y in data]
    return {
        "wall_s": round(time.perf_counter() - start, 2),
        "cpu_s": round(time.process_time() - cpu, 2),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "chosen": chosen,
    }


def auc_of_choice(n_rows: int, n_groups: int, chosen: list[dict[str, int]]) -> float:
    """Mean ROC-AUC on 5,000 new rows that a forest of the chosen setting reaches."""
    from sklearn.metrics import roc_auc_score

    scores = []
    for seed in range(n_groups):
        x, y = rows(n_rows, seed)
        new_x, new_y = rows(5_000, 1_000 + seed)
        forest = make_forest(**chosen[seed]).fit(x, y)
        scores.append(roc_auc_score(new_y, forest.predict_proba(new_x)[:, 1]))
    return round(float(np.mean(scores)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000, help="training rows of a group")
    parser.add_argument("--groups", type=int, default=4, help="training groups")
    arguments = parser.parse_args()
    sides = {}
    for name, search in {"obvious": obvious, "ours": ours}.items():
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            sides[name] = pool.apply(measure, (search, arguments.rows, arguments.groups))
        sides[name]["auc_of_choice"] = auc_of_choice(arguments.rows, arguments.groups, sides[name]["chosen"])
        print(name, sides[name])
    print(
        json.dumps(
            {
                "benchmark": "sweep",
                "ratio": round(sides["obvious"]["cpu_s"] / sides["ours"]["cpu_s"], 2),
                "of": "CPU-seconds of GridSearchCV over CPU-seconds of search_forest, the same grid and folds",
                "rows": arguments.rows,
                "groups": arguments.groups,
                **{name: {key: side[key] for key in side if key != "chosen"} for name, side in sides.items()},
            }
        )
    )


if __name__ == "__main__":
    main()
