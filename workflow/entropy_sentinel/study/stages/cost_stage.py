"""Stage `cost`: the costs of the labels of a judge behind a server, per model and benchmark."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from entropy_sentinel.core.whole_files import whole_file
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms
from entropy_sentinel.schemas.contract import read_provenance
from entropy_sentinel.schemas.label_schema import LABELS

_COUNTS = ("calls", "unanswered_calls", "cached_calls", "prompt_tokens", "completion_tokens", "usd", "unanswered_usd")


def write_costs(labels: Sequence[str], ledger: str, output: str) -> None:
    """Write a CSV file with a line for each file of `labels`, and their total.

    Columns: responses, and the number of those without a label. From the study's ledger: calls that the server
    answered, unanswered_calls (killed or interrupted), cached_calls, prompt_tokens, completion_tokens, usd of the
    answered calls, and unanswered_usd, the most that the others may cost. Calls for labels that were rebuilt later are
    included, because they are paid for.
    """
    sums = _sum_by_domain(Ledger(ledger, Terms()))
    rows = []
    for path in labels:
        origin = read_provenance(path)
        label = LABELS.read(path, ["label"])["label"]
        model, benchmark = origin["model"], origin["benchmark"]
        row = {"model": model, "benchmark": benchmark, "responses": len(label), "unlabelled": label.null_count()}
        rows.append(row | sums.get((model, benchmark), dict.fromkeys(_COUNTS, 0)))
    frame = pl.DataFrame(rows).cast({"usd": pl.Float64, "unanswered_usd": pl.Float64})
    numbers = pl.col(frame.columns[2:]).sum()  # all columns but model and benchmark
    total = frame.select(pl.lit("total").alias("model"), pl.lit("").alias("benchmark"), numbers)
    with whole_file(Path(output)) as partial:
        pl.concat([frame, total]).write_csv(partial, float_precision=6)


def _sum_by_domain(ledger: Ledger) -> dict[tuple[str, str], dict[str, float]]:
    """The sums of the columns _COUNTS by (model, benchmark), over all accounts: each has its settings of the judge."""
    sums_by_domain: dict[tuple[str, str], dict[str, float]] = {}
    for account in ledger.accounts():
        model, benchmark, *_ = account["account"].split("/")
        sums = sums_by_domain.setdefault((model, benchmark), dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            sums[name] += account[name]
    return sums_by_domain
