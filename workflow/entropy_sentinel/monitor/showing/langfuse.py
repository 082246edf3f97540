"""Send scores to Langfuse, and responses to its annotation queues, through its HTTP interface.

The address and the keys come from the environment variables that Langfuse's own clients read. They appear in no output.
"""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

import polars as pl

from entropy_sentinel.core.batch_posting import Delivery, post_each
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.json_posting import is_address
from entropy_sentinel.formatting.text_format import format_list
from entropy_sentinel.monitor.estimating.verdict_coverage import explain_verdict

# What the id of a response is the id of, in Langfuse.
Target = Literal["trace", "observation"]
NAME = "p_correct"
_HOSTS, _PUBLIC, _SECRET = ("LANGFUSE_BASE_URL", "LANGFUSE_HOST"), "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"
_CLOUD = "https://cloud.langfuse.com"
# Attempts to send a score.
_ATTEMPTS = 3
# The largest number of ids in an error.
_MOST_NAMES = 100


def check_keys() -> None:
    """Raise ConfigError if a key is not in the environment, or the address is not one."""
    _read_connection()


def send_scores(scores: pl.DataFrame, target: Target) -> int:
    """Send the P(correct) of each response as a score; return their number.

    `scores` is the result of `score`; `item_id` is the id of the trace or the observation. A score has the same id
    whenever it is sent, so sending it again replaces it.

    Raises InputError if the server does not take all of them.
    """
    rows = scores.filter(pl.col("p_correct").is_not_null())
    contents = []
    for row in rows.iter_rows(named=True):
        name = f"{NAME}\0{row['item_id']}\0{row['sample']}"
        content = {
            "id": hashlib.sha256(name.encode()).hexdigest()[:32],
            f"{target}Id": row["item_id"],
            "name": NAME,
            "value": row["p_correct"],
            "dataType": "NUMERIC",
            "comment": f"estimated by entropy-sentinel; {explain_verdict(row['verdict'], row['familiarity_reason'])}",
        }
        contents.append(content)
    delivery = _send_each(contents, "/api/public/scores", _ATTEMPTS)
    if delivery.n_failed:
        raise InputError(
            f"Langfuse did not take {delivery.n_failed:,} of {len(contents):,} scores: {delivery.words}. Run the "
            "command again: what was sent is replaced, not added"
        )
    return len(contents)


def send_to_queue(responses: pl.DataFrame, target: Target, queue: str) -> int:
    """Add responses to an annotation queue; return their number.

    A queue takes a response twice if it is sent twice, so nothing is tried again. Raises InputError with the ids of the
    responses that the server did not take.
    """
    ids = responses["item_id"].unique(maintain_order=True).to_list()
    contents = [{"objectId": item_id, "objectType": target.upper()} for item_id in ids]
    delivery = _send_each(contents, f"/api/public/annotation-queues/{quote(queue, safe='')}/items", attempts=1)
    failed = [item_id for item_id, problem in zip(ids, delivery.problems, strict=True) if problem]
    if failed:
        remedy = "Nothing was added: run the command again"
        if len(failed) < len(ids):
            remedy = (
                "Add them in Langfuse, because the command would add the others twice: "
                f"{format_list(failed, _MOST_NAMES)}"
            )
        raise InputError(f"Langfuse did not take {len(failed):,} of {len(ids):,} responses: {delivery.words}. {remedy}")
    return len(ids)


def _send_each(contents: Sequence[Mapping[str, Any]], path: str, attempts: int) -> Delivery:
    """Post each of the contents to a path of the server, and say which of them it took."""
    host, headers = _read_connection()
    return post_each(contents, f"{host}{path}", headers, attempts)


def _read_connection() -> tuple[str, dict[str, str]]:
    """The address of the server, and the headers with the keys."""
    for name in (_PUBLIC, _SECRET):
        if not os.environ.get(name):
            raise ConfigError(f"langfuse: set the environment variable {name} to a key of the project")
        try:
            os.environ[name].encode()
        except UnicodeEncodeError:
            raise ConfigError(f"langfuse: {name} must be text in UTF-8; copy the key again") from None
    hosts = [os.environ.get(name) for name in _HOSTS]
    host = next(filter(None, hosts), _CLOUD).rstrip("/")
    if not is_address(host):
        raise ConfigError(f"langfuse: {' or '.join(_HOSTS)} must be https://HOST")
    keys = f"{os.environ[_PUBLIC]}:{os.environ[_SECRET]}".encode()
    return host, {"Authorization": f"Basic {base64.b64encode(keys).decode()}"}
