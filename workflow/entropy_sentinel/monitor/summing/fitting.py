"""Whether what was read is of use: of the model and log-probabilities of the estimator, with the columns asked for."""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from entropy_sentinel.frames.errors import InputError, ProvenanceError
from entropy_sentinel.monitor.reading.files import columns_of
from entropy_sentinel.monitor.reading.problems import Problems
from entropy_sentinel.monitor.reading.settings import Reading
from entropy_sentinel.monitor.settings import LOGPROBS, MODEL
from entropy_sentinel.monitor.summing.state import FileSums


def check_use(
    files: Collection[FileSums], read: Iterable[FileSums], reading: Reading, about: Mapping[str, Any]
) -> None:
    """Raise where nothing of `files` is of use, those that were `read` now among them.

    ProvenanceError where all responses are of another model or log-probabilities than the estimator is, by what its
    file says `about` it; InputError for a column that no response has a value in.
    """
    seen = {name for one in files for name in one.seen}
    if any(one.n_responses for one in files):
        for name in reading.columns:
            if name not in seen:
                raise InputError(f"no response has a value in column '{name}'{_columns_there(read)}")
    rejected = Problems()
    for one in files:
        rejected.counts.update(one.rejected)
    if rejected.counts and sum(rejected.counts.values()) == sum(one.n_responses for one in files):
        raise ProvenanceError(_nothing_fits(rejected, about))


def _columns_there(read: Iterable[FileSums]) -> str:
    path = next((one.path for one in read if Path(one.path).is_file()), None)
    return f"; columns there: {', '.join(columns_of(path)) or 'none'}" if path else ""


def _nothing_fits(rejected: Problems, about: Mapping[str, Any]) -> str:
    logprobs = ", ".join(f"{name} {value}" for name, value in about["logprobs"].items())
    remedies = {
        "of model": f"if they are of '{about.get('model')}' by another name, say --any-{MODEL}",
        "of top_k": "if they have more alternatives to a token, cut them with --top-k",
        "of logprobs": f"if that is what you want, say --any-{LOGPROBS}",
    }
    said = [remedy for what, remedy in remedies.items() if any(kind.startswith(what) for kind in rejected.counts)]
    return (
        f"no response is of what the estimator was fitted on (model {about.get('model')}, {logprobs}): "
        f"{'; '.join(f'{count:,} {kind}' for kind, count in rejected.counts.most_common(5))}; {'; '.join(said)}"
    )
