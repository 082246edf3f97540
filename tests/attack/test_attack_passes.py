"""Files of passes made elsewhere with odd numbers in them: refused by file, row and column, or signals of numbers."""

import math
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from a_study import item_ids, step
from attack_cases import attack

from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.signal_families.signal_registry import FAMILIES
from entropy_sentinel.study.items.trace_import import complete_generations
from entropy_sentinel.study.stages.engine_pass import write_engine_pass
from entropy_sentinel.study.stages.signal_stage import write_signals

pytestmark = pytest.mark.slow

# Of each family what a response has.
ROWS: dict[str, dict[str, Any]] = {
    "forced_answer": {
        **{"answer": "own", "positions": [1, 2], "entropies": [0.5, 1.0], "missing_masses": [0.0, 0.1]},
        **{"bounds": [0.0, 0.2], "eas": 1.5, "mean_eas": 0.75, "eas_bound": 0.2},
    },
    "integers": {
        **{"values": [1, 4], "logprobs": [-1.0, -1.5], "missing": 0.4},
        **{"first_values": [1, 4], "first_logprobs": [-0.9, -1.2]},
    },
    "beam_search": {"texts": ["1", "4"], "logprobs": [-1.0, -1.5], "lengths": [2, 2], "finish_reasons": ["stop"] * 2},
    "iterative_prompting": {"answer": "1", "logprob": -1.0, "distinct": [0], "conditional_logprobs": [-0.5]},
}
GOOD = {family: row for family, row in ROWS.items() if family in FAMILIES}
ODD = (math.nan, math.inf, -math.inf, -1.0, 2.0, 1e30, -1e30, 0.0, None)
NUMBERS = [(family, column) for family, row in GOOD.items() for column in row if column not in ("answer", "texts")]


def traces(folder: Path) -> str:
    given = {
        "item_id": item_ids(),
        "sample": pl.Series([0] * 3, dtype=pl.UInt16),
        **{"text": ["1"] * 3, "finish_reason": ["stop"] * 3},
        "token_logprobs": pl.Series([[-0.5]] * 3, dtype=GENERATIONS.schema["token_logprobs"]),
        "top_logprobs": pl.Series([[step()]] * 3, dtype=GENERATIONS.schema["top_logprobs"]),
    }
    frame = complete_generations(pl.DataFrame(given)).select(GENERATIONS.schema.names())
    GENERATIONS.write(frame, folder / "traces.parquet", {"model": "mine", "benchmark": "sums"})
    return str(folder / "traces.parquet")


@pytest.mark.parametrize(("family", "column"), NUMBERS)
def test_an_odd_number_is_refused_or_makes_numbers(family: str, column: str, tmp_path: Path) -> None:
    asks, path, output = FAMILIES[family].requery, tmp_path / "given.parquet", tmp_path / "pass.parquet"
    assert asks is not None
    good = {"model": "mine", "benchmark": "sums", "sample": 0, **GOOD[family]}
    for odd in ODD:
        was = good[column]
        values = [[odd, *was[1:]], [*was, odd], [odd], None] if isinstance(was, list) else [odd]
        for value in values:
            rows = [good | {"item_id": item} for item in item_ids()]
            rows[1][column] = value
            try:
                frame = asks.contract.frame([dict.fromkeys(asks.contract.schema) | row for row in rows])
            except (TypeError, OverflowError, pl.exceptions.PolarsError):
                continue  # no file can have it in this column
            frame.write_parquet(path)
            settings: Any = {"family": family, "version": 1, "source": str(path), "settings": {"answers": ["own"]}}

            def signals(settings: Any = settings) -> pl.DataFrame:
                write_engine_pass("", traces(tmp_path), settings, 1, str(output))
                write_signals(family, traces(tmp_path), str(tmp_path / "signals.parquet"), asked=str(output))
                return pl.read_parquet(tmp_path / "signals.parquet")

            refused = rf"{re.escape(str(path))}: row 1: '\w+' must (be finite|have an entry|not contain null)"
            result = attack({"either": refused}, signals)
            if result is not None:
                names = [signal.name for signal in FAMILIES[family].signals]
                assert result.select(pl.col(names).drop_nulls().is_finite().all()).row(0) == (True,) * len(names), value
                assert isinstance(value, list) or value is None or math.isfinite(value)
