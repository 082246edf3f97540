"""Have a language model judge a sample of responses: a second kind of label for the monitor, beside those of people."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from entropy_sentinel.chat.settings import Prompt, check_placeholders
from entropy_sentinel.core.errors import ConfigError, EntropySentinelError, InputError
from entropy_sentinel.core.options import checked
from entropy_sentinel.features.catalogue import FEATURE_FRAME
from entropy_sentinel.frames.response import RESPONSE
from entropy_sentinel.frames.witness import JUDGE
from entropy_sentinel.judges.judge import Case, Verdict
from entropy_sentinel.judges.prompts import WITHOUT_REFERENCE
from entropy_sentinel.judges.settings import Llm
from entropy_sentinel.monitor.labelling.to_label import LABEL, read_to_label
from entropy_sentinel.monitor.settings import JudgeOptions
from entropy_sentinel.sources.logs.reader import QUESTION
from entropy_sentinel.verbs.inputs import WEIGHT, is_table, table

if TYPE_CHECKING:
    from entropy_sentinel.judges.llm import LlmJudge

# The column that says why a verdict is missing.
REASON = "reason"
RESPONSE_TEXT = "response"


@dataclass(frozen=True)
class JudgedSample:
    """The rows of a sample with a judge's verdicts, and what they cost in US dollars (0 without prices)."""

    rows: pl.DataFrame
    usd: float
    answered: int
    cached: int


def judge(
    responses: Any,
    model: str,
    *,
    # The fields of `JudgeOptions`, by made.signatures
    base_url: str | None = None,
    prompt: str | Path | None = None,
    budget_usd: float | None = None,
    usd_per_million_input_tokens: float | None = None,
    usd_per_million_output_tokens: float | None = None,
    max_tokens: int = 4096,
    temperature: float | None = None,
    concurrency: int = 16,
    requests_per_minute: float | None = None,
    total_timeout_s: float = 600,
) -> pl.DataFrame:
    """Have a language model judge responses, without a reference answer: labels for the `judged` of `monitor`.

    Replies are cached, so the same request is paid for once. The keys of the provider are in the environment.

    Args:
        responses: Responses to judge, from `sample`: its table, its file, or several. The verdicts represent the first;
            those on further responses of the others only correct the judge's errors, and have no weight.
        model: LiteLLM's name of the judge, such as openai/gpt-4o-mini.
        base_url: The address of the server; by default the provider's own.
        prompt: A text file with your own prompt, which has {question} and {response} and asks for a reply that ends
            with {"success": true} or {"success": false}.
        budget_usd: The most that this run may cost, in US dollars; a request that might cost more is not sent. It needs
            both prices (0 or more).
        usd_per_million_input_tokens: The price of the prompts, from the provider's list (0 or more).
        usd_per_million_output_tokens: The price of the replies (0 or more).
        max_tokens: Most tokens of a reply, reasoning included (1 or more and at most 1,048,576).
        temperature: The judge's temperature; by default the server's (0 or more and at most 100).
        concurrency: Requests at a time (1 or more and at most 1,024).
        requests_per_minute: Most requests per minute; by default without a limit (above 0).
        total_timeout_s: Longest wait for a reply, over all tries of a request, in seconds (above 0 and at most
            604,800).

    Returns:
        The rows of `responses`, each once, with the verdict as `label`, null with a `reason` if there is none, and the
        name of the model as `judge`.

    Raises:
        InputError: For a table without the questions and responses.
        ConfigError: For invalid options, or a prompt without its placeholders.
        EntropySentinelError: If the server does not answer, or the budget is used up.
    """
    return judged(responses, JudgeOptions.of_arguments(locals())).rows


def judged(responses: Any, settings: JudgeOptions) -> JudgedSample:
    """Return the result of `judge`, and its costs."""
    rows = _sample(responses)
    prompt = WITHOUT_REFERENCE if settings.prompt is None else _prompt(settings.prompt)
    llm = _judge(settings, prompt)
    askable = rows.filter(pl.col(QUESTION).is_not_null(), pl.col(RESPONSE_TEXT).is_not_null())
    if askable.is_empty():
        raise InputError(f"responses: the judge needs the texts in '{QUESTION}' and '{RESPONSE_TEXT}', which are empty")
    texts = askable.select(QUESTION, RESPONSE_TEXT).iter_rows()
    cases = [Case(question, response, "", truncated=False) for question, response in texts]
    try:
        verdicts = iter(llm.judge(cases))
    except EntropySentinelError as error:
        done = llm.counts["answered"] + llm.counts["cached"]
        raise type(error)(
            f"{str(error).removeprefix('judges.')} ({done:,} of {len(cases):,} responses are judged)"
        ) from None
    missing = Verdict(None, reason="the log has no question or no response")
    without = rows.select(pl.any_horizontal(pl.col(QUESTION, RESPONSE_TEXT).is_null())).to_series()
    every = [missing if absent else next(verdicts) for absent in without]
    rows = rows.with_columns(
        pl.Series(LABEL, [verdict.label for verdict in every], pl.Boolean),
        pl.Series(REASON, [verdict.reason for verdict in every], pl.String),
        pl.lit(settings.model).alias(JUDGE),
    )
    return JudgedSample(rows, llm.spent_usd, llm.counts["answered"], llm.counts["cached"])


def _judge(settings: JudgeOptions, prompt: Prompt) -> "LlmJudge":
    """Return the judge that the options describe."""
    given = settings.model_dump(exclude={"prompt"}, exclude_none=True)
    # The judge works out the answer before its verdict, so its reply is not only the verdict.
    section = checked(Llm, {"kind": "llm", "structured_output": False, **given})
    try:
        from entropy_sentinel.judges.llm import LlmJudge

        asked = section.tracked({section.prompt: prompt}, None)
        server = section.model_dump(include={*Llm.UNTRACKED})
        return LlmJudge({"version": Llm.VERSION, "judge": JUDGE, "kind": "llm", "llm": asked["llm"]}, server)
    except ModuleNotFoundError as error:
        raise ConfigError(f"judge: needs {error.name}: pip install 'entropy-sentinel[judge]'") from None


def _prompt(path: Path) -> Prompt:
    """Return the prompt in a file, the message of a user; raise ConfigError for one without its placeholders."""
    try:
        prompt = Prompt(user=path.read_text(encoding="utf-8"))
        check_placeholders(str(path), prompt, (QUESTION, RESPONSE_TEXT))
    except (OSError, ValueError) as error:
        raise ConfigError(f"prompt: {error}") from None
    return prompt


def _sample(responses: Any) -> pl.DataFrame:
    """Return the responses of one table or file of `sample`, or of several: each once, further ones without weight."""
    several = list(responses) if isinstance(responses, list | tuple) else [responses]
    frames = [table(each, "responses") if is_table(each) else read_to_label(each) for each in several]
    if not frames:
        raise InputError("responses: name at least one file")
    for number, frame in enumerate(frames, 1):
        if absent := [name for name in ("item_id", QUESTION, RESPONSE_TEXT) if name not in frame.columns]:
            raise InputError(f"responses: table {number} has no column '{absent[0]}'; give the files of `sample`")
    dtypes = {**{name: FEATURE_FRAME.schema[name] for name in RESPONSE}, WEIGHT: pl.Float64}
    dtypes |= dict.fromkeys((QUESTION, RESPONSE_TEXT), pl.String)
    frames = [_cast(frame, dtypes) for frame in frames]
    first, *others = frames
    if others and WEIGHT in first.columns:
        others = [frame.with_columns(pl.lit(None, pl.Float64).alias(WEIGHT)) for frame in others]
    rows = pl.concat([first, *others], how="diagonal_relaxed")
    return rows.unique([name for name in RESPONSE if name in rows.columns], keep="first", maintain_order=True)


def _cast(frame: pl.DataFrame, dtypes: Any) -> pl.DataFrame:
    """Return the columns of a sample in their types, without what people or another judge have said."""
    frame = frame.drop(LABEL, REASON, JUDGE, strict=False)
    try:
        return frame.with_columns(pl.col(name).cast(dtypes[name]) for name in frame.columns if name in dtypes)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"responses: {' '.join(str(error).split())[:200]}") from None


def check_target(path: Path) -> None:
    """Raise InputError if a file exists and is not one of verdicts: it may have somebody's labels."""
    if path.is_file() and path.stat().st_size and JUDGE not in read_to_label(path).columns:
        raise InputError(f"--output: {path} exists and is not a file of verdicts; name another file")


def counts(rows: pl.DataFrame) -> Sequence[int]:
    """Return how many responses the judge calls correct and incorrect, and how many have no verdict."""
    label = rows[LABEL]
    return int(label.sum()), int((~label).sum()), label.null_count()
