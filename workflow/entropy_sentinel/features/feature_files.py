"""Files of features: from the stage `features`, or captured."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from entropy_sentinel.core.errors import InputError
from entropy_sentinel.features.feature_registry import FEATURE_FRAME
from entropy_sentinel.schemas.arrow_lists import read_batches
from entropy_sentinel.schemas.contract import PROVENANCE_KEY, check_user_file, read_provenance
from entropy_sentinel.schemas.generation_schema import GENERATIONS, LOGPROBS

# The suffix of the files of features that `capturing` writes.
CAPTURED = ".features.jsonl.gz"


def holds_features(path: str | Path) -> bool:
    """Whether a file has features: from the stage `features`, or captured.

    Raises:
        InputError: For a file of a stage without features or responses.
    """
    if Path(path).suffix != ".parquet":
        return str(path).endswith(CAPTURED)
    with check_user_file(path):
        if PROVENANCE_KEY not in pl.read_parquet_metadata(path):
            return False
        stage = read_provenance(path)["stage"]
    if stage not in (GENERATIONS.stage, FEATURE_FRAME.stage):
        raise InputError(f"{path}: must hold features or generations, holds {stage}")
    return bool(stage == FEATURE_FRAME.stage)


def read_feature_batches(path: str | Path, rows: int = 20_000) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file of features, at most `rows` at a time, with the columns LOGPROBS from its provenance.

    Raises:
        ContractError: For a file of another stage.
        InputError: For a damaged captured file.
    """
    if str(path).endswith(CAPTURED):
        yield from _read_captured(path).iter_slices(rows)
        return
    with check_user_file(path):
        FEATURE_FRAME.scan(path)
        origin = read_provenance(path)
        for batch in read_batches(path, rows=rows):
            yield batch.with_columns(**{name: pl.lit(origin.get(name)) for name in LOGPROBS})


def _read_captured(path: str | Path) -> pl.DataFrame:
    """The rows of FEATURE_FRAME and LOGPROBS in a captured file, JSON lines in gzip; raises InputError for another."""
    try:
        rows = [json.loads(line) for line in gzip.decompress(Path(path).read_bytes()).splitlines()]
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, dict):
                raise ValueError(f"line {number} must be a JSON object, is {type(row).__name__}")
        return pl.from_dicts(rows, schema_overrides=FEATURE_FRAME.schema, infer_schema_length=None)
    except (OSError, EOFError, ValueError, RecursionError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read as captured features: {error}") from None
