"""Any table of responses: JSON Lines, or Parquet (`sources.logs.flat_table` has that of plain numbers).

`token_logprobs` is a list of numbers per response. `top_logprobs` has per token a list of numbers, of {logprob:
number}, or a mapping of tokens to numbers. Known beside them: an id, `text`, `finish_reason`, `model`, `sample`,
`tokens`, `token_ids`, `prompt_tokens`, `seed`, `trace_start`. All other columns with one value per response may make
slices.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from entropy_sentinel.sources.logs import columns, reader, reply
from entropy_sentinel.sources.logs.openai_pairs import IDS
from entropy_sentinel.sources.logs.reply import Reply

TEXTS = ("text", "response", "completion", "output", "answer")
OWN = (*TEXTS, "finish_reason", "model", "sample", "tokens", "token_ids", "prompt_tokens", "seed", "trace_start")
TRACES = ("token_logprobs", "top_logprobs")


class Reader(reader.Reader):
    """One response per record."""

    def replies(self, record: Mapping[str, Any]) -> Iterator[Reply]:
        """The response of the row."""
        sampled, top = (record[name] for name in TRACES)
        tokens, text = record.get("tokens") or (), _first(record, TEXTS)
        text = reply.storable(text if text is not None else "".join(tokens))
        found = None
        if sampled is not None:
            found = reply.trace(sampled, [_numbers(step) for step in ([()] * len(sampled) if top is None else top)])
        yield Reply(
            *(_first(record, IDS), record.get("model"), text, reply.finish(record.get("finish_reason")), found, tokens),
            token_ids=record.get("token_ids"),
            sample=record.get("sample"),
            prompt_tokens=record.get("prompt_tokens") or 0,
            seed=-1 if record.get("seed") is None else record["seed"],
            trace_start=record.get("trace_start") or 0,
            unusable=reply.why_unusable(found, text, ()),
            columns=self.columns(record, columns.usual(record, leave_out=(*own_columns(record), *TRACES))),
        )


def own_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The columns of a table that have a meaning here; further ids beside the first are columns like others."""
    names = set(names)
    return (*OWN, *[name for name in IDS if name in names][:1])


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if record.get(name) is not None), None)


def _numbers(step: Any) -> list[Any]:
    entries = list(step.values()) if isinstance(step, Mapping) else step or ()
    return [entry["logprob"] if isinstance(entry, Mapping) else entry for entry in entries]
