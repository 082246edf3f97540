"""Whether a slice is like the labelled domains: by hand, by another way to compute it, and on drawn traffic."""

import json

import numpy as np
import polars as pl
import pytest
from pydantic import TypeAdapter
from scipy.optimize import minimize, nnls

from entropy_sentinel.estimators.familiarity import ALONE, FACTOR, FLOOR, Familiarity
from entropy_sentinel.features.hashed_tokens import BUCKETS
from entropy_sentinel.statistics.mixture import Mixtures

READER = TypeAdapter(Familiarity)
HIGH = np.random.default_rng(7)


def state(n: int, **counts: int) -> np.ndarray:
    made = np.zeros(1 + BUCKETS, dtype=np.int64)
    made[0] = n
    for name, count in counts.items():
        made[1 + int(name[1:])] = count
    return made


def of(*states: np.ndarray, groups: tuple[str, ...] | None = None) -> Familiarity:
    names = tuple(f"d{number}" for number in range(len(states)))
    return Familiarity(names, np.array(states), groups or names, "tokens")


def test_two_buckets_and_three_domains_by_hand() -> None:
    """Domain shares (1/2, 0), (1/2, 1/2) and (0, 1/2) in the two buckets, of 10 responses each; slice (0, 1) of 10.

    Weights: the mean of q (1 - q) is (1/4 + 1/4 + 0) / 3 = 1/6 in both, so w = 1 / (1/6 + .02) = 5.357143. The nearest
    mixture of (x, y) in the triangle of the domains is the third, (0, 1/2): x must be 0, and then y is 1/2.
    V_p = 10/9 * w * (0 + 0) = 0; V_k = 10/9 * w / 4 = 1.488095; V_m = w / 4 = 1.339286.
    D = w * (1/2)^2 - 0 - V_k / 10 = 1.339286 - .148810 = 1.190476. F = D / (D + 0 + V_m) = .470588.
    """
    known = of(state(10, b0=5), state(10, b0=5, b1=5), state(10, b1=5))
    [distance] = known.distances(np.array([state(10, b1=10)]))
    assert distance == pytest.approx(0.470588, abs=1e-5)


def test_left_out_domains_set_the_limit() -> None:
    near = of(state(1000, b0=500), state(1000, b0=505), state(1000, b0=495))
    assert near.limit == pytest.approx(FACTOR * FLOOR)
    far = of(state(100, b0=90), state(100, b0=90, b1=1), state(100, b5=90))
    assert far.left_out.argmax() == 2
    assert far.limit == pytest.approx(FACTOR * far.left_out.max())
    assert of(state(50, b0=25)).limit == ALONE
    grouped = of(state(100, b0=90), state(100, b0=90), state(100, b5=90), groups=("a", "a", "b"))
    assert grouped.left_out[0] > 0.5  # its twin is of its own group, so only the other group is left
    assert of(state(100, b0=90), state(100, b5=9), groups=("a", "a")).limit == ALONE


def drawn(shares: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.concatenate([[n], (rng.random((n, BUCKETS)) < shares).sum(axis=0)])


def kinds(n_domains: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Shares of words of alike domains: common ones, and some of each its own."""
    common = rng.beta(0.3, 2, BUCKETS)
    return [np.clip(common + rng.normal(0, 0.05, BUCKETS), 0, 1) for _ in range(n_domains)]


@pytest.mark.parametrize("n", [5, 10, 20, 50, 200])
def test_own_traffic_and_mixtures_are_at_0_whatever_the_size(n: int) -> None:
    rng = np.random.default_rng(n)
    domains = kinds(5, rng)
    known = of(*(drawn(shares, 80, rng) for shares in domains))
    own = [drawn(domains[number % 5], n, rng) for number in range(100)]
    mixed = [
        sum(drawn(domains[place], size, rng) for place, size in ((0, n - n // 2), (3, n // 2)) if size)
        for _ in range(100)
    ]
    distances = known.distances(np.array([*own, *mixed]))
    assert abs(np.mean(distances)) < 3 * np.std(distances) / np.sqrt(len(distances)) + 0.02
    assert known.flags(np.array([*own, *mixed])) == [None] * 200
    other = rng.permutation(domains[0])
    assert all(known.flags(np.array([drawn(other, n, rng) for _ in range(20)])))


def test_the_distance_is_that_of_its_definition() -> None:
    """Computed anew with a general optimiser."""
    rng = np.random.default_rng(3)
    states = [drawn(shares, 60, rng) for shares in kinds(4, rng)]
    known, slice_ = of(*states), drawn(kinds(1, rng)[0], 30, rng)
    q = np.array([one[1:] / one[0] for one in states])
    p, w = slice_[1:] / 30, 1 / ((q * (1 - q)).mean(axis=0) + 0.02)
    start = np.full(4, 0.25)
    best = minimize(
        lambda s: float(w @ (p - s @ q) ** 2),
        start,
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    ).x
    mixture = best @ q
    v_p, v_k = 30 / 29 * float(w @ (p * (1 - p))), 60 / 59 * (q * (1 - q)) @ w
    v_m = float(w @ (mixture * (1 - mixture)))
    d = float(w @ (p - mixture) ** 2) - v_p / 30 - float(best**2 @ v_k) / 60
    assert known.distances(np.array([slice_]))[0] == pytest.approx(d / (max(d, 0) + v_p + v_m), abs=1e-5)


def test_nothing_is_said_below_five_responses() -> None:
    known = of(state(100, b0=50), state(100, b0=55))
    assert known.flags(np.array([state(4, b9=4), state(0), state(5, b9=5)]))[:2] == [None, None]
    assert known.flags(np.array([state(5, b9=5)]))[0].startswith("unlike anything labelled (distance ")


def test_there_and_back_as_json_and_what_rows_give() -> None:
    rows = pl.DataFrame(
        {"buckets": [[1, 2], [2], [3], [3, 4], None], "buckets_of": ["tokens"] * 4 + [None]},
        schema={"buckets": pl.List(pl.UInt8), "buckets_of": pl.String},
    )
    known = Familiarity.fit(rows, ["a", "a", "b", "b", "b"])
    assert known.names == ("a", "b")
    assert known.domains[:, :6].tolist() == [[2, 0, 1, 2, 0, 0], [2, 0, 0, 0, 2, 1]]
    same = READER.validate_python(json.loads(json.dumps(known.to_dict())))
    assert (same.domains == known.domains).all()
    assert (same.names, same.groups, same.kind) == (known.names, known.groups, "tokens")
    two_kinds = rows.with_columns(buckets_of=pl.Series(["tokens", "words", "tokens", "words", None]))
    assert Familiarity.fit(two_kinds, ["a", "a", "b", "b", "b"]) is None
    assert Familiarity.fit(rows.with_columns(buckets_of=pl.lit(None, pl.String)), ["a"] * 5) is None


def test_the_distances_between_domains_are_stored_and_an_earlier_file_gives_the_same() -> None:
    rng = np.random.default_rng(3)
    computed = of(*(drawn(shares, 30, rng) for shares in kinds(6, rng)), groups=("a", "a", "b", "c", "d", "e"))
    content = json.loads(json.dumps(computed.to_dict()))
    stored = READER.validate_python(content)
    assert stored.stored is not None
    assert stored.left_out.tolist() == computed.left_out.tolist()
    earlier = READER.validate_python({name: value for name, value in content.items() if name != "left_out"})
    assert (earlier.stored, earlier.limit) == (None, stored.limit)
    alone = of(state(50, b0=25)).to_dict()
    assert alone["left_out"] == [None]
    assert np.isnan(READER.validate_python(alone).left_out).all()


@pytest.mark.parametrize("n", [2, 30, 200])
def test_the_nearest_mixture_is_that_of_a_solver_for_all_columns(n: int) -> None:
    """SciPy's solver for one problem with every allowed column, and a heavy equation for the sum."""
    rng = np.random.default_rng(n)
    columns = rng.random((60, n))
    for number in range(10):
        allowed = rng.random(n) < 0.8
        allowed[0] = True
        target = columns @ rng.dirichlet(np.full(n, 0.1)) + rng.normal(0, 0.1 * number, 60)
        equations = np.vstack([columns[:, allowed], np.full((1, allowed.sum()), 1e3)])
        expected, _ = nnls(equations, np.append(target, 1e3))
        shares = Mixtures(columns).find_shares(target, allowed)
        assert not shares[~allowed].any()
        assert shares.sum() == pytest.approx(1)
        mixture = columns[:, allowed] @ (expected / expected.sum())
        assert columns @ shares == pytest.approx(mixture, abs=1e-8)
