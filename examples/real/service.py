"""A service that captures the replies of its model, in place of yours: it asks one question of each kind.

    python examples/real/service.py logs

writes the replies to ``logs``. The model's server is played by this program too: it gives the answer and the
log-probabilities that a real model gave (``traces``). It needs the package and OpenAI's client.
"""

import argparse
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import polars as pl
from openai import OpenAI

import entropy_sentinel as es
from write_weeks import HERE, ROUTES, SHOWN, questions

Row = Mapping[str, Any]


def serve_customers(url: str, folder: Path, rows: list[Row]) -> None:
    """Ask each question at the model's server; capture is one line."""
    client = es.capture(OpenAI(base_url=url, api_key="none"), folder)
    for row in rows:
        with es.tagged(route=row["route"]):
            client.chat.completions.create(model=SHOWN, messages=[{"role": "user", "content": row["question"]}])


@contextmanager
def model_server(answers: Mapping[str, Row]) -> Iterator[str]:
    """The address of a server that answers these questions as OpenAI's API does."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = answers[request["messages"][-1]["content"]]
            reply = json.dumps(completion(answer, request.get("top_logprobs", 0))).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()


def completion(answer: Row, top_logprobs: int) -> dict[str, Any]:
    """A recorded answer as a completion; the texts of alternatives were not recorded, so they get numbers."""
    steps = [
        {"token": token, "logprob": logprob, "top_logprobs": alternatives(top[:top_logprobs])}
        for token, logprob, top in zip(answer["tokens"], answer["token_logprobs"], answer["top_logprobs"], strict=True)
    ]
    message = {"role": "assistant", "content": answer["text"]}
    choice = {"index": 0, "message": message, "finish_reason": answer["finish_reason"], "logprobs": {"content": steps}}
    return {
        "id": answer["item_id"],
        "object": "chat.completion",
        "created": 0,
        "model": SHOWN,
        "choices": [choice],
    }


def alternatives(logprobs: list[float]) -> list[dict[str, Any]]:
    """Alternatives to a token, in the form of OpenAI's API."""
    return [{"token": f"alternative {rank}", "logprob": logprob} for rank, logprob in enumerate(logprobs)]


def main() -> None:
    """Read the folder from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    files = sorted((HERE / "traces" / SHOWN).glob("*.parquet"))
    traces = pl.concat([pl.read_parquet(path).rename({"item_id": "item"}) for path in files])
    routes = {kind: route for route, weeks in ROUTES.items() for kind in weeks[1]}
    asked = questions(path.stem for path in files).unique("topic", keep="first", maintain_order=True)
    asked = asked.with_columns(route=pl.col("topic").replace_strict(routes))
    rows = asked.join(traces, on="item", validate="1:1", maintain_order="left").with_columns(item_id="item")
    answers = {row["question"]: row for row in rows.iter_rows(named=True)}
    with model_server(answers) as url:
        serve_customers(url, folder, list(answers.values()))
    print(f"{folder}: {len(answers)} replies, each with the log-probabilities of its tokens")


if __name__ == "__main__":
    main()
