"""What a report of Snakemake shows, `snakemake --report`."""

import json
from pathlib import Path
from typing import Any


def read_results(report: Path) -> dict[str, dict[str, Any]]:
    """The entries of a report by the path of their file; `caption` is HTML."""
    _, _, text = report.read_text().partition("results = {")
    results: dict[str, dict[str, Any]] = json.JSONDecoder().raw_decode(f"{{{text}")[0]
    return results
