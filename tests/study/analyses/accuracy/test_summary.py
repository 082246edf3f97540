import polars as pl
from frames import GROUPS, estimate_rows, sweep_rows, validation

from entropy_sentinel.study.analyses.accuracy.closing_summary import write_summary as whole_summary

GROUP = "arithmetic+words"
ESTIMATES = estimate_rows(
    "a",
    GROUP,
    [("logic", "held_out", 0.30, 0.20), ("units", "held_out", 0.50, 0.65), ("words", "training", 0.80, 0.80)],
)
SWEEP = pl.concat(
    [
        sweep_rows([0.125], [1.0], ["a"]),
        sweep_rows([0.083], [0.5], ["a"], scope="all"),
        sweep_rows([0.05], [0.9], ["a"], estimator="baseline-max"),
        sweep_rows([0.06], [0.9], ["a"], estimator="baseline-ppl"),
    ]
)


def summarise(estimates: pl.DataFrame, sweep: pl.DataFrame) -> str:
    """The part on the headline group."""
    text = whole_summary([validation()], estimates, sweep, GROUPS, "extremes")
    return text[text.index("Accuracy estimated from entropy") :]


def test_summary_of_one_model():
    assert summarise(ESTIMATES, SWEEP).splitlines() == [
        "Accuracy estimated from entropy, trained on arithmetic, words (Extremes)",
        "",
        "a",
        "  domain    role        labels    estimated    true    error",
        "  --------  --------  --------  -----------  ------  -------",
        "  words     training       100        0.800   0.800   +0.000",
        "  units     unseen         100        0.500   0.650   -0.150",
        "  logic     unseen         100        0.300   0.200   +0.100",
        "",
        "  unseen domains         AEE 0.125   rho 1.000",
        "  all domains            AEE 0.083   rho 0.500",
        "  best simple estimator  AEE 0.050   rho 0.900   SE max: lower AEE than the estimator",
    ]


def test_summary_says_what_is_recommended_and_why_and_leaves_it_out_of_the_best_after_the_fact():
    chosen = estimate_rows("a", GROUP, [("logic", "held_out", 0.25, 0.20)], "recommended").with_columns(
        hyperparameters=pl.lit('{"method": "atc-max", "reason": "least error"}'), caution=pl.lit("only 3 rows")
    )
    sweep = pl.concat([SWEEP, sweep_rows([0.04], [0.8], ["a"], estimator="recommended")])
    assert summarise(pl.concat([ESTIMATES, chosen]), sweep).splitlines()[-5:] == [
        "  unseen domains         AEE 0.125   rho 1.000",
        "  all domains            AEE 0.083   rho 0.500",
        "  recommended            AEE 0.040   rho 0.800   ATC, SE max: least error",
        "  best simple estimator  AEE 0.050   rho 0.900   SE max: lower AEE than the estimator",
        "  caution: only 3 rows",
    ]


def test_summary_counts_the_domains_of_a_rho_over_few():
    few = SWEEP.with_columns(n_domains=pl.lit(2, pl.UInt8))
    assert "  unseen domains         AEE 0.125   rho 1.000 over 2 domains\n" in summarise(ESTIMATES, few)


def test_summary_says_when_no_baseline_is_better():
    sweep = SWEEP.with_columns(aee=pl.when(pl.col("estimator").str.starts_with("baseline")).then(0.2).otherwise("aee"))
    assert "SE max: no lower AEE than the estimator" in summarise(ESTIMATES, sweep)


def test_summary_shows_nulls_with_their_reason():
    estimates = estimate_rows("a", GROUP, [("logic", "held_out", None, None), ("units", "held_out", 0.5, 0.6)])
    text = summarise(estimates, sweep_rows([0.1], [None], ["a"]))
    assert "logic     unseen       100            -       -        -" in text
    assert "AEE 0.100   rho -   (estimated accuracies are all equal)" in text


def test_summary_leaves_out_a_model_without_the_group():
    sweep = pl.concat([SWEEP, sweep_rows([0.1], [1.0], ["b"], group="logic")])
    assert "\nb\n" not in summarise(ESTIMATES, sweep)


def test_summary_without_results():
    text = summarise(ESTIMATES, SWEEP.filter(pl.col("model") == "other"))
    assert text.endswith("No results for this training group.\n")


def test_the_summary_begins_with_verdicts_and_domains_without_labels():
    validations = [
        validation(unlabelled=[("puzzles", 0.6149), ("riddles", None)]),
        validation("b", [], [("puzzles", 0.4)], caution="only 3 rows are correct"),
    ]
    text = whole_summary(validations, ESTIMATES, SWEEP, GROUPS, "extremes")
    assert text.splitlines()[:18] == [
        "Can the estimates be trusted? Each labelled domain is estimated without its labels",
        "  a: usable",
        "    off by 0.125 in the mean",
        "    method: Consensus of 3 ATC (no candidate beats it)",
        "  b: too few domains to say",
        "    there are 0 labelled domains",
        "    method: Consensus of 3 ATC (no candidate beats it)",
        "    caution: only 3 rows are correct",
        "",
        "Domains without labels: estimated accuracy",
        "  model    domain      responses    estimated    90% interval  verdict",
        "  -------  --------  -----------  -----------  --------------  -----------------------------",
        "  a        puzzles           100         0.61    0.51 to 0.71  usable",
        "  a        riddles           100            -               -  all training rows are correct",
        "  b        puzzles           100         0.40    0.30 to 0.50  too few domains to say",
        "",
        "Accuracy estimated from entropy, trained on arithmetic, words (Extremes)",
        "",
    ]
    assert "Domains without labels" not in whole_summary([validation()], ESTIMATES, SWEEP, GROUPS, "extremes")


def test_labels_for_a_part_of_a_domain_are_counted_and_compared_with_the_estimate_on_that_part():
    partly = estimate_rows("a", GROUP, [("logic", "held_out", 0.30, 0.20)]).with_columns(
        n_labelled=pl.lit(40, pl.UInt32), estimated_on_labelled=pl.lit(0.25)
    )
    text = summarise(partly, SWEEP)
    assert "logic     unseen  40 of 100        0.250   0.200   +0.050" in text
