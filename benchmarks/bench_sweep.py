"""Measure the CPU time of a whole estimation job, all 48 configurations, against the obvious way with scikit-learn.

A job fits on the rows of four domains and scores ten domains of 11,000 rows. The obvious way is GridSearchCV, then
CalibratedClassifierCV, for each configuration. Both sides run on the same rows, one after the other, each in a process
of its own. Run by `make bench-sweep`, about 20 minutes; `--rows 500` takes two. Prints one JSON object as its last
line, and draws how our time grows with training rows, domains trained on, and jobs.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from threadpoolctl import threadpool_limits

from entropy_sentinel.estimators.estimator_registry import CONFIGURATIONS, parse_configuration
from entropy_sentinel.estimators.estimator_settings import Estimation
from entropy_sentinel.estimators.training_rows import TrainingRows, fit_estimators, score_slices
from entropy_sentinel.features.feature_registry import FEATURE_SETS, FEATURES

SEED, N_DOMAINS, N_SCORED, N_TRAINED_ON = 42, 10, 11_000, 4
NAMES = [configuration.name for configuration in CONFIGURATIONS]
# Two kinds of forests are also compared with other seeds of the reference.
YARDSTICKS = ("forest-10d-balanced-isotonic", "forest-3d-unbalanced-isotonic")
SETTINGS = Estimation().model_dump() | {"seed": SEED}

# Accuracy by domain of every configuration, and the function that gives P(correct) by response.
Result = tuple[dict[str, list[float]], Callable[[], dict[str, np.ndarray]]]


def responses(n: int, easiness: float, rng: np.random.Generator) -> tuple[pl.DataFrame, np.ndarray]:
    """Features of n simulated responses of 64 tokens, and whether they are correct: easy ones have less entropy."""
    easy = easiness + rng.normal(size=(n, 1))
    correct = rng.random((n, 1)) < 1 / (1 + np.exp(-1.3 * easy))
    shown = 0.55 * easy + 0.9 * correct - 0.45 + 0.9 * rng.normal(size=(n, 1))
    entropy = np.minimum(rng.gamma(0.25, np.exp(-0.4 * shown), size=(n, 64)), 3.0)
    nll = 2 * entropy * rng.gamma(0.3, size=(n, 64))
    length = np.clip(np.exp(4.2 - 0.22 * easy + 0.4 * rng.normal(size=(n, 1))), 8, 300)[:, 0]
    z = (entropy - entropy.mean(axis=1, keepdims=True)) / entropy.std(axis=1, keepdims=True)
    quantiles = np.quantile(entropy, [0.1, 0.25, 0.5, 0.75, 0.9], axis=1)
    columns = {
        **{"mean": entropy.mean(axis=1), "std": entropy.std(axis=1), "max": entropy.max(axis=1)},
        **dict(zip(("q10", "q25", "q50", "q75", "q90"), quantiles, strict=True)),
        **{"skewness": (z**3).mean(axis=1), "kurtosis": (z**4).mean(axis=1), "se_sum": entropy.mean(axis=1) * length},
        **{"nll_avg": nll.mean(axis=1), "nll_max": nll.max(axis=1), "nll_sum": nll.mean(axis=1) * length},
        **{"lntp": np.exp(-nll.mean(axis=1)), "mtp": np.exp(-nll.max(axis=1)), "ppl": np.exp(nll.mean(axis=1))},
    }
    return pl.DataFrame(columns).select(FEATURES), correct[:, 0]


class Job:
    """Training rows of k domains, and rows of all ten to score."""

    def __init__(self, n_rows: int, k: int = N_TRAINED_ON, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        easiness = rng.permutation(np.linspace(-2.2, 2.2, N_DOMAINS))
        trained_on = [responses(n_rows // k, one, rng) for one in easiness[:k]]
        scored = [responses(N_SCORED // N_DOMAINS, one, rng)[0] for one in easiness]
        self.features, self.scored = pl.concat([x for x, _ in trained_on]), pl.concat(scored)
        self.y = np.concatenate([y for _, y in trained_on])
        number = np.repeat(np.arange(N_DOMAINS), N_SCORED // N_DOMAINS)
        self.slices = {str(domain): number == domain for domain in range(N_DOMAINS)}


def ours(job: Job, names: Sequence[str], seed: int) -> Result:
    """The job as the workflow runs it."""
    rows = TrainingRows(job.features, job.y, SETTINGS | {"seed": seed})
    rows.folds.random_state = SEED
    fitted = fit_estimators(rows, names)
    estimates = {name: list(score_slices(fitted[name], job.scored, job.slices).values()) for name in names}
    return estimates, lambda: {name: fitted[name].p_correct(job.scored) for name in names}


def obvious(job: Job, names: Sequence[str], seed: int) -> Result:
    """Run the same job with only scikit-learn."""
    from obvious import fit_obvious
    from sklearn.preprocessing import StandardScaler

    scores = {}
    with threadpool_limits(1):
        for name in names:
            features = FEATURE_SETS[parse_configuration(name).features]
            scaler = StandardScaler().fit(job.features.select(features).to_numpy())
            x, others = (scaler.transform(frame.select(features).to_numpy()) for frame in (job.features, job.scored))
            fitted = fit_obvious(name, x, job.y, SETTINGS | {"seed": seed}, seed_of_folds=SEED)
            scores[name] = fitted.predict_proba(others)[:, 1]
    estimates = {name: [float(p[rows].mean()) for rows in job.slices.values()] for name, p in scores.items()}
    return estimates, lambda: scores


def measure(side: Callable, names: Sequence[str], n_rows: int, k: int = N_TRAINED_ON, jobs: int = 1, seed: int = SEED):
    """One side, in a process of its own: CPU-seconds from its start (`cpu_s`) and of the jobs alone, peak memory."""
    started, total = time.process_time(), 0.0
    for number in range(jobs):
        job = Job(n_rows, k, number)
        before = time.process_time()
        estimates, scores = side(job, names, seed)
        total += time.process_time() - before
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    figures = {"cpu_s": round(total, 2), "start_cpu_s": round(started, 2), "peak_mib": int(peak.split()[1]) // 1024}
    return figures, estimates, scores()


def apart(*arguments: Any, **more: Any) -> Any:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, arguments, more)


def agreement(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """By family: median, 95th percentile and largest difference, and the mean of the signed one."""
    result = {}
    for family in ("logistic", "mlp", "forest"):
        names = [name for name in mine if name.startswith(family)]
        difference = np.concatenate([np.subtract(mine[name], theirs[name]) for name in names]) if names else np.zeros(1)
        result[family] = spread(difference)
    return result


def spread(difference: np.ndarray) -> dict[str, float]:
    size = np.abs(difference)
    figures = (np.median(size), np.quantile(size, 0.95), size.max(), difference.mean())
    return {name: float(f"{one:.2g}") for name, one in zip(("median", "p95", "max", "signed"), figures, strict=True)}


def compare(n_rows: int) -> dict[str, Any]:
    """Run both sides on the same rows."""
    theirs, their_estimates, their_scores = apart(obvious, NAMES, n_rows)
    mine, estimates, scores = apart(ours, NAMES, n_rows)
    return {
        "rows": n_rows,
        "ratio": round(theirs["cpu_s"] / mine["cpu_s"], 1),
        "ratio_with_start": round(sum_of(theirs) / sum_of(mine), 1),
        "obvious": theirs,
        "ours": mine,
        "estimates_differ": agreement(estimates, their_estimates),
        "scores_differ": agreement(scores, their_scores),
    }


def sum_of(side: Mapping[str, float]) -> float:
    return side["cpu_s"] + side["start_cpu_s"]


def over_seeds(n_rows: int, n_seeds: int) -> dict[str, dict[str, float]]:
    """The differences of forests from the reference with the same seed, and of two seeds from each other."""

    def estimates(side: Callable) -> np.ndarray:
        of_seeds = (apart(side, YARDSTICKS, n_rows, seed=SEED + number)[1] for number in range(n_seeds))
        return np.array([[result[name] for name in YARDSTICKS] for result in of_seeds])

    mine, theirs = estimates(ours), estimates(obvious)
    pairs = (theirs[:, None] - theirs)[~np.eye(n_seeds, dtype=bool)]
    return {"ours_from_reference": spread((mine - theirs).ravel()), "reference_from_itself": spread(pairs.ravel())}


def growth() -> dict[str, dict[int, float]]:
    """Our CPU-seconds by training rows, by domains trained on (500 rows of each), and by jobs of 500 rows."""
    return {
        "training rows": {n: apart(ours, NAMES, n)[0]["cpu_s"] for n in (250, 500, 1_000, 2_000, 4_000, 8_000)},
        "domains trained on": {k: apart(ours, NAMES, 500 * k, k)[0]["cpu_s"] for k in (1, 2, 4, 9)},
        "jobs": {n: apart(ours, NAMES, 500, jobs=n)[0]["cpu_s"] for n in (1, 2, 4, 8)},
    }


def draw(grown: Mapping[str, Mapping[int, float]], compared: Sequence[Mapping[str, Any]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    for axes, (title, seconds) in zip(figure.subplots(1, 3), grown.items(), strict=True):
        axes.plot(list(seconds), list(seconds.values()), "o-", label="ours")
        if title == "training rows":
            axes.plot(
                [one["rows"] for one in compared], [one["obvious"]["cpu_s"] for one in compared], "s-", label="obvious"
            )
            axes.legend()
        axes.set(xscale="log", yscale="log", xlabel=title, ylabel="CPU-seconds")
        axes.set_xticks(list(seconds), [str(one) for one in seconds], minor=False)
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[500, 2_000, 8_000], help="training rows of a job")
    parser.add_argument("--seeds", type=int, default=5, help="seeds for comparing forests, on the fewest rows")
    parser.add_argument("--configurations", type=int, default=len(NAMES), help="only this many, the same of each kind")
    parser.add_argument("--no-growth", action="store_true", help="do not measure how time grows")
    parser.add_argument("--plot", type=Path, default=Path("results/benchmarks/sweep.svg"))
    arguments = parser.parse_args()
    NAMES[:] = NAMES[:: max(len(NAMES) // arguments.configurations, 1)]
    apart(ours, NAMES, 500)  # the first process on a machine compiles
    compared = []
    for n_rows in arguments.rows:
        compared.append(compare(n_rows))
        print(json.dumps(compared[-1]), flush=True)
    seeds = over_seeds(min(arguments.rows), arguments.seeds)
    grown = {} if arguments.no_growth else growth()
    if grown:
        draw(grown, compared, arguments.plot)
    print(
        json.dumps(
            {
                "benchmark": "sweep",
                "ratio": min(one["ratio"] for one in compared),
                "of": "CPU-seconds of GridSearchCV and CalibratedClassifierCV per configuration / CPU-seconds of ours",
                "scored_rows": N_SCORED,
                "sizes": compared,
                "forests_over_seeds": seeds,
                "growth_cpu_s": grown,
            }
        )
    )


if __name__ == "__main__":
    main()
