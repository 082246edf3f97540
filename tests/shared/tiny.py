"""Small traces to try verbs and commands on: the demo's tiny-1m on 40 problems of each of four domains.

They are as `es.example()`, with shorter responses and accuracies from 0 to 1; `log` are three responses of each domain
as the log of a server, with five alternatives to a token.
"""

from pathlib import Path

from entropy_sentinel.api.response_reading import Example

_FOLDER = Path(__file__).parents[1] / "data" / "tiny"
TINY = Example(*(_FOLDER / name for name in ("traces", "labels.parquet", "log.jsonl", "", "")))
