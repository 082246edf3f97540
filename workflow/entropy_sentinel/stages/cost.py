"""Stage `cost`: the costs of the labels of a judge behind a server, per model and benchmark."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from entropy_sentinel.chat.ledger import Ledger, Terms
from entropy_sentinel.frames.contract import read_provenance
from entropy_sentinel.frames.files import whole_file
from entropy_sentinel.frames.label import LABELS

_COUNTS = ("calls", "unanswered_calls", "cached_calls", "prompt_tokens", "completion_tokens", "usd", "unanswered_usd")


def write_costs(labels: Sequence[str], ledger: str, output: str) -> None:
    """Write a CSV file with a line for each file of `labels`, and their total.

    Columns: responses, and the number of those without a label. From the study's ledger: calls that the server
    answered, unanswered_calls (killed or interrupted), cached_calls, prompt_tokens, completion_tokens, usd of the
    answered calls, and unanswered_usd, the most that the others may cost. Calls for labels that were rebuilt later are
    included, because they are paid for.
    """
    spent = _by_domain(Ledger(ledger, Terms()))
    rows = []
    for path in labels:
        whose = read_provenance(path)
        verdicts = LABELS.read(path, ["label"])
        counts = {"responses": len(verdicts), "unlabelled": verdicts["label"].null_count()}
        nothing = dict.fromkeys(_COUNTS, 0)
        domain = whose["model"], whose["benchmark"]
        rows.append({"model": domain[0], "benchmark": domain[1], **counts, **spent.get(domain, nothing)})
    frame = pl.DataFrame(rows).cast({"usd": pl.Float64, "unanswered_usd": pl.Float64})
    names = {"model": pl.lit("total"), "benchmark": pl.lit("")}
    total = frame.select(**names, **{name: pl.col(name).sum() for name in frame.columns[2:]})
    with whole_file(Path(output)) as partial:
        pl.concat([frame, total]).write_csv(partial, float_precision=6)


def _by_domain(ledger: Ledger) -> dict[tuple[str, str], dict[str, float]]:
    """Return the sums of the accounts of each model and benchmark, over all settings of the judge."""
    spent: dict[tuple[str, str], dict[str, float]] = {}
    for account in ledger.accounts():
        model, benchmark, *_ = account["account"].split("/")
        sums = spent.setdefault((model, benchmark), dict.fromkeys(_COUNTS, 0))
        for name in _COUNTS:
            sums[name] += account[name]
    return spent
