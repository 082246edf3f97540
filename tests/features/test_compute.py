"""The 17 features against values worked out by hand, by numpy and scipy, and by the packages of peers."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.stats

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features import feature_computation
from entropy_sentinel.features.feature_computation import compute_features, summarise_top_k
from entropy_sentinel.features.feature_registry import EXTRAS, FEATURE_FRAME, FEATURES
from entropy_sentinel.features.half_precision import rounding_error
from entropy_sentinel.schemas.generation_schema import GENERATIONS

INF, NAN = float("inf"), float("nan")
PEERS = json.loads((Path(__file__).parents[1] / "golden" / "peers.json").read_text())


def step(*log_p):
    """The top 20 of one step: the given log-probabilities, then tokens of probability 0."""
    return [*log_p, *[-INF] * (20 - len(log_p))]


def frame(*responses):
    """GENERATIONS of responses, each a pair of sampled log-probabilities (T,) and their top 20 (T, 20)."""
    fixed = {"sample": 0, "seed": 7, "run": 0, "trace_start": 0, "displaced_steps": 0, "prompt_tokens": 12}
    fixed |= {"prompt_hash": "0123456789abcdef", "finish_reason": "stop", "text": "four"}
    columns = {name: [fixed.get(name)] * len(responses) for name in GENERATIONS.schema} | {
        "item_id": [f"item-{row}" for row in range(len(responses))],
        "n_tokens": [len(sampled) for sampled, _ in responses],
        "token_ids": [[1] * len(sampled) for sampled, _ in responses],
        "token_logprobs": [list(sampled) for sampled, _ in responses],
        "top_logprobs": [[list(entries) for entries in top] for _, top in responses],
    }
    return GENERATIONS.frame(columns).with_columns(model=pl.lit("m"), benchmark=pl.lit("b"))


def nearly_level(log_p, k=20):
    """The top k of a step with one probability each but for the last digit: exactly equal ones are placeholders."""
    return [*[log_p] * (k - 1), log_p * (1 + 2e-7)]


def row(sampled, top):
    return compute_features(frame((sampled, top))).row(0, named=True)


def random_trace(rng, n_tokens):
    """A float32 trace whose tokens are drawn from the 20 most likely of 60."""
    logits = rng.normal(scale=3.0, size=(n_tokens, 60))
    log_p = -np.sort(-(logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)), axis=1)
    log_p = log_p.astype(np.float32)[:, :20]
    return log_p[np.arange(n_tokens), rng.integers(0, 20, n_tokens)], log_p


LN2 = math.log(2)
HALVES = step(-LN2, -LN2)
CERTAIN = step(0.0)


def test_entropy_is_truncated_and_not_renormalised():
    # Twenty tokens of 1 % each: 0.2 ln 100; renormalised it would be ln 20.
    result = row([-math.log(100)], [nearly_level(-math.log(100))])
    assert result["se_sum"] == pytest.approx(0.2 * math.log(100), rel=1e-6)


def test_response_of_one_token_has_no_spread():
    result = row([-LN2], [HALVES])
    assert [result[name] for name in ("std", "skewness", "kurtosis")] == [0, 0, 0]
    for name in ("mean", "max", "q10", "q50", "se_sum"):
        assert result[name] == pytest.approx(LN2, rel=1e-6), name


@pytest.mark.parametrize("n_tokens", [2, 3, 17, 400])
def test_random_traces_agree_with_numpy_and_scipy(n_tokens):
    sampled, top = random_trace(np.random.default_rng(n_tokens), n_tokens)
    result = row(sampled, top)
    log_p, nll = top.astype(float), -sampled.astype(float)
    entropy = -(np.exp(log_p) * log_p).sum(axis=1)
    expected = {
        **{"mean": entropy.mean(), "std": entropy.std(), "max": entropy.max(), "se_sum": entropy.sum()},
        **{f"q{percent}": np.quantile(entropy, percent / 100) for percent in (10, 25, 50, 75, 90)},
        "skewness": scipy.stats.skew(entropy),
        "kurtosis": scipy.stats.kurtosis(entropy, fisher=False),
        **{"nll_avg": nll.mean(), "nll_max": nll.max(), "nll_sum": nll.sum()},
        **{"lntp": scipy.stats.gmean(np.exp(-nll)), "mtp": np.exp(-nll).min(), "ppl": np.exp(nll.mean())},
    }
    assert {name: result[name] for name in FEATURES} == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_skewness_and_kurtosis_are_0_for_a_spread_below_the_limit():
    # Entropies of 0.2 nats that differ by 1e-7 only.
    probability = 0.2 / 2.5
    log_p = [math.log(probability), math.log(probability) + 2e-6]
    result = row([-4.0, -4.0], [step(log_p[0]), step(log_p[1])])
    assert 0 < result["std"] <= 1e-6
    assert (result["skewness"], result["kurtosis"]) == (0, 0)


@pytest.mark.parametrize("zero", [-INF, -9999.0, -10000.0])
def test_top_entry_of_probability_0_adds_0(zero):
    result = row([-LN2], [[-LN2, -LN2, *[zero] * 18]])
    assert result["max"] == pytest.approx(LN2, rel=1e-6)


@pytest.mark.parametrize("zero", [-INF, -9999.0, -10000.0])
def test_sampled_token_of_probability_0_takes_the_smallest_finite_entry(zero):
    result = row([zero, -LN2], [step(-0.1, -4.0, -9999.0), HALVES])
    assert result["nll_max"] == pytest.approx(4.0, rel=1e-6)
    assert result["nll_sum"] == pytest.approx(4.0 + LN2, rel=1e-6)
    assert (result["clamped_tokens"], result["reason"]) == (1, None)


def test_sampled_token_just_above_the_sentinel_is_kept():
    result = row([-9998.0] + [0.0] * 199, [CERTAIN] * 200)
    assert (result["nll_sum"], result["clamped_tokens"]) == (9998, 0)
    assert result["ppl"] == pytest.approx(math.exp(49.99))


@pytest.mark.parametrize("likelihood", [-50.1, -100.0, -400.0, -5000.0])
def test_an_impossible_likelihood_gives_no_features(likelihood):
    """Its perplexity would be infinite in Float32, in which forests compute, or in the square of a variance."""
    result = row([likelihood] * 3, [CERTAIN] * 3)
    assert result["reason"] == "mean log-probability below -50: no sampler draws such tokens"
    assert all(result[name] is None for name in FEATURES)


EMPTY = ([], [])
WITH_NAN = ([NAN, 5.0, -INF], [CERTAIN, CERTAIN, step()])
WITH_NAN_IN_TOP = ([0.0, 0.0], [CERTAIN, step(-LN2, NAN)])
POSITIVE_SAMPLED = ([3.5], [CERTAIN])
POSITIVE_TOP = ([0.0, -INF], [step(0.0, 2e-3), step()])
INFINITE = ([0.0], [step(INF, 0.0)])
IMPOSSIBLE = ([-INF, 0.0], [step(), CERTAIN])
SAMPLED_FROM_NOTHING = ([-1.0, 0.0], [step(), CERTAIN])
MORE_THAN_ONE = ([-LN2], [step(-LN2, -LN2, -6.5)])
PLACEHOLDERS = ([-4.0, -4.0], [[-4.0] * 20] * 2)
PROBABILITIES = ([0.6, 0.2], [[0.6, 0.3, *[0.0] * 18], [0.7, 0.2, *[0.001] * 18]])
ABOVE_THE_TOP = ([-LN2 + 2e-3], [HALVES])


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (EMPTY, "empty response"),
        (WITH_NAN, "NaN in the log-probabilities"),
        (WITH_NAN_IN_TOP, "NaN in the log-probabilities"),
        (POSITIVE_SAMPLED, "positive log-probability: raw logits?"),
        (POSITIVE_TOP, "positive log-probability: raw logits?"),
        (INFINITE, "positive log-probability: raw logits?"),
        (IMPOSSIBLE, "a step has no token of its top 20 with a probability above 0"),
        (SAMPLED_FROM_NOTHING, "a step has no token of its top 20 with a probability above 0"),
        (MORE_THAN_ONE, "probabilities of a step's top 20 add up to more than 1"),
        (ABOVE_THE_TOP, "sampled token more likely than the first of its top 20"),
        (PLACEHOLDERS, "the top 20 of every step are equally likely"),
        (PROBABILITIES, "probabilities in place of their logarithms"),
    ],
)
def test_an_incomplete_response_has_no_features_and_the_first_reason(response, reason):
    result = row(*response)
    assert result["reason"] == reason
    assert [result[name] for name in FEATURES] == [None] * 17


def test_a_certain_step_among_placeholders_is_a_trace():
    assert row([-4.0, 0.0], [[-4.0] * 20, CERTAIN])["reason"] is None


def test_a_log_has_the_reason_for_missing_features_and_keeps_its_columns():
    traces = frame(([0.0], [CERTAIN]), ([0.0], [CERTAIN])).with_columns(
        unusable=pl.Series([None, "no log-probabilities in the log"]), route=pl.Series(["a", "b"])
    )
    result = compute_features(traces)
    assert result["reason"].to_list() == [None, "no log-probabilities in the log"]
    assert result["route"].to_list() == ["a", "b"]
    assert result.columns == [*FEATURE_FRAME.schema, "route"]


@pytest.mark.parametrize("k", [1, 5])
def test_a_smaller_k_truncates_the_entropy(k):
    sampled, top = random_trace(np.random.default_rng(4), 30)
    cut = frame((sampled, top)).with_columns(
        top_logprobs=pl.Series([top[:, :k].tolist()], dtype=pl.List(pl.Array(pl.Float32, k)))
    )
    log_p = top[:, :k].astype(float)
    entropy = -(np.exp(log_p) * log_p).sum(axis=1)
    result = compute_features(cut).row(0, named=True)
    assert (result["mean"], result["max"]) == pytest.approx((entropy.mean(), entropy.max()), rel=1e-9)


def test_steps_with_fewer_entries_and_k_by_response():
    """Nulls in the place of entries, as where responses of several k stand in one frame."""
    level = [-4.0] * 5
    traces = frame(([-0.5], [step(-0.5, -1.5)]), ([-4.0], [[*level, *[None] * 15]]), ([0.0], [[0.0, *[None] * 19]]))
    traces = traces.with_columns(top_k_returned=pl.Series([20, 5, 1]))
    result = compute_features(traces)
    assert result["reason"].to_list() == [None, "the top 5 of every step are equally likely", None]
    assert result["mean"][0] == pytest.approx(0.5 * math.exp(-0.5) + 1.5 * math.exp(-1.5))


def test_a_refused_request_has_its_reason():
    refused = frame(EMPTY, ([0.0], [CERTAIN])).with_columns(finish_reason=pl.Series(["refused: too long", "stop"]))
    assert compute_features(refused)["reason"].to_list() == ["refused: too long", None]


def test_log_probability_positive_by_rounding_is_accepted():
    assert row([5e-4], [step(5e-4)])["reason"] is None


MIXED = [
    EMPTY,
    ([0.0, -LN2], [CERTAIN, HALVES]),
    WITH_NAN,
    EMPTY,
    IMPOSSIBLE,
    *[random_trace(np.random.default_rng(seed), 3 + seed) for seed in range(9)],
    EMPTY,
]


def test_rows_keep_their_order_and_the_contract():
    traces = frame(*MIXED)
    result = FEATURE_FRAME.check(compute_features(traces))
    identity = ["item_id", "sample", "n_tokens", "finish_reason"]
    assert result.select(identity).equals(traces.select(identity))
    assert result["reason"].is_null().equals(result["mean"].is_not_null())


@pytest.mark.parametrize("tokens", [1, 7])
def test_parts_change_nothing(monkeypatch, tokens):
    whole = compute_features(frame(*MIXED))
    monkeypatch.setattr(feature_computation, "TOKENS_AT_A_TIME", tokens)
    assert compute_features(frame(*MIXED)).equals(whole)


def test_no_responses_give_an_empty_frame_of_the_contract():
    assert FEATURE_FRAME.check(compute_features(frame())).is_empty()


def test_uneven_traces_are_refused_by_name():
    with pytest.raises(InputError, match=r"'item-1', sample 0: .* n_tokens = 2 steps, had 2 and 1"):
        compute_features(frame(EMPTY, ([0.0, 0.0], [CERTAIN])))


@pytest.mark.parametrize("trace", PEERS["traces"], ids=lambda trace: f"{len(trace['token_logprobs'])} tokens")
def test_features_agree_with_the_packages_of_peers_and_scipy(trace):
    """Equal quantities only; names and neighbouring quantities differ.

    uqlm: sequence_probability with length_normalize (LNTP) is our lntp, min_probability (MTP) our mtp. Its
    entropies are renormalised over the top k, and reported as 1 - H / ln k: no feature of ours.
    LM-Polygraph: EntropyCalculator's entropies, here over the same top 20, are our H(t), and MeanTokenEntropy
    our mean; TokenEntropy, which drops the last token, is not used. MaximumSequenceProbability is our
    nll_sum, and Perplexity, which has no exp, our nll_avg.
    """
    result = row(trace["token_logprobs"], trace["top_logprobs"])
    polygraph, uqlm = trace["lm-polygraph"], trace["uqlm"]
    peers = {
        "lntp": uqlm["sequence_probability"],
        "mtp": uqlm["min_probability"],
        "mean": polygraph["MeanTokenEntropy"],
        "se_sum": sum(polygraph["entropy"]),
        "max": max(polygraph["entropy"]),
        "q50": np.median(polygraph["entropy"]),
        "nll_sum": polygraph["MaximumSequenceProbability"],
        "nll_avg": polygraph["Perplexity"],
    }
    assert {"std", "q25", "lntp", "captured_mass"} <= set(trace["scipy"])
    for expected in (peers, trace["scipy"]):
        assert {name: result[name] for name in expected} == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_error_bound_is_the_published_one_in_nats():
    """By hand, eps = 0.1 and 0.5 of two steps: (0.1 ln(80 / 0.1) + 0.5 ln(80 / 0.5)) / 2 for a vocabulary of 100."""
    steps = [step(math.log(0.6), math.log(0.3)), step(math.log(0.3), math.log(0.2))]
    result = compute_features(frame(([-1.5, -1.5], steps)), vocabulary=100).row(0, named=True)
    assert result["entropy_error_bound"] == pytest.approx((0.1 * math.log(800) + 0.5 * math.log(160)) / 2, rel=1e-6)
    assert result["captured_mass"] == pytest.approx(0.7, rel=1e-6)
    assert result["open_steps"] == 1
    assert row([-1.5, -1.5], steps)["entropy_error_bound"] is None


def test_the_error_bound_is_reached_if_all_other_tokens_are_equally_likely():
    """100 tokens: two of 0.3, the other 98 of 0.4 / 98 each; the full entropy is the truncated one and the bound."""
    rest = math.log(0.4 / 98)
    full = -2 * 0.3 * math.log(0.3) - 0.4 * rest
    # Entries that are exactly equal in every step are placeholders.
    two = pl.Series([[[math.log(0.3), math.log(0.3) - 1e-6]]], dtype=pl.List(pl.Array(pl.Float32, 2)))
    traces = frame(([math.log(0.3)], [CERTAIN])).with_columns(top_logprobs=two, top_k_returned=2)
    result = compute_features(traces, vocabulary=100).row(0, named=True)
    assert result["mean"] + result["entropy_error_bound"] == pytest.approx(full, rel=1e-5)


def test_no_mass_is_missing_if_the_top_k_are_the_whole_vocabulary():
    result = compute_features(frame(([0.0], [CERTAIN]), ([-LN2], [HALVES])), vocabulary=20)
    assert result["entropy_error_bound"].to_list() == [0, 0]
    assert result["captured_mass"].to_list() == pytest.approx([1, 1])
    assert result["open_steps"].to_list() == [0, 0]


def test_columns_other_than_features():
    """Twelve steps: certain but for toss-ups at 1 and 11; the last ten hold one of them."""
    top = [HALVES if number in (1, 11) else CERTAIN for number in range(12)]
    cut = frame(([step[0] for step in top], top)).with_columns(finish_reason=pl.lit("length"))
    result = compute_features(cut).row(0, named=True)
    assert (result["max_position"], result["trace_tokens"], result["cut_off"]) == (1, 12, True)
    assert result["last_entropy"] == pytest.approx(LN2 / 10, rel=1e-6)
    assert row([0.0], [CERTAIN])["cut_off"] is False


def test_without_features_the_other_columns_are_null():
    result = row(*WITH_NAN)
    assert [result[name] for name in EXTRAS] == [None] * len(EXTRAS)
    assert (result["trace_tokens"], row(*EMPTY)["trace_tokens"]) == (3, 0)


def test_missing_mass_is_a_mean_over_tokens() -> None:
    """One step that keeps all and three that keep .6 of it: (1 + 3 * .6) / 4."""
    part = step(math.log(0.4), math.log(0.2))
    features = compute_features(frame(([0.0], [CERTAIN]), ([math.log(0.4)] * 3, [part] * 3), WITH_NAN))
    result = summarise_top_k(features)
    assert result["captured_mass"] == pytest.approx(0.7, rel=1e-6)
    assert result["open_steps"] == pytest.approx(3 / 4)
    assert (result["entropy_error_bound"], result["trace_tokens"]) == (None, 7)


def test_half_precision_is_recognised_by_many_numbers() -> None:
    """Few numbers, such as -0.5 and -1.25, may fit by chance."""
    exact = -np.random.default_rng(2).random((5, 20), dtype=np.float32)
    brain = (exact.view(np.uint32) & 0xFFFF0000).view(np.float32)
    for top, error in ((exact, 0), (brain, 2**-9), (exact.astype(np.float16).astype(np.float32), 2**-12)):
        assert rounding_error(top[:, 0], top, np.array([2, 3])).tolist() == [error] * 2
    few = np.tile(np.float32([-0.5, -1.25]), (5, 10))
    assert rounding_error(few[:, 0], few, np.array([5])).tolist() == [0]
