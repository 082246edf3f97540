"""Have a language model judge a sample of responses: a second kind of label for the monitor, beside those of people."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from entropy_sentinel.api.verb_options import JudgeKeywords
from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.extras import install_command
from entropy_sentinel.core.option_classes import document_options, validate_section
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.judges.judge_interface import Case, Verdict
from entropy_sentinel.judges.judge_kinds import Llm
from entropy_sentinel.judges.judge_prompts import WITHOUT_REFERENCE
from entropy_sentinel.llm_client.server_settings import Prompt, check_placeholders
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.monitor.labelling.interruption import InterruptionCode
from entropy_sentinel.monitor.labelling.judged_sample import (
    NO_TEXTS,
    RESPONSE_TEXT,
    JudgedSample,
    add_labels,
    read_sample,
)
from entropy_sentinel.monitor.labelling.label_sheet import read_label_sheet
from entropy_sentinel.monitor.labelling.partial_sample import collect_answers, keep_answered, order_requests
from entropy_sentinel.monitor.labelling.partner_answers import join_partner
from entropy_sentinel.monitor.labelling.second_opinion import ask_second_model
from entropy_sentinel.monitor.monitor_options import JudgeOptions
from entropy_sentinel.schemas.witness_schema import JUDGE, WitnessKind

if TYPE_CHECKING:
    from entropy_sentinel.judges.llm_judge import LlmJudge

log = logging.getLogger(__name__)


@document_options(JudgeOptions)
def judge(
    responses: Any,
    model: str | None = None,
    *,
    agrees_with: Any = None,
    agrees_with_model: str | None = None,
    **options: Unpack[JudgeKeywords],
) -> pl.DataFrame:
    """Have a language model judge responses without a reference answer, or compare them with a second model's answers.

    The result is for the `judged` of `monitor` and `fit`, which correct its errors by labels of people. Give exactly
    one of `model`, `second_opinion` and `agrees_with`. Replies are cached, so the same request is paid for once. The
    keys of the provider are in the environment.

    If the budget is spent or the server fails after some answers, these are returned, and a warning says how many are
    missing. Their weights are larger, so that they still represent the slices. The same call again asks only the rest,
    also after an interrupt, which ends the call with KeyboardInterrupt: replies that came before it are in the cache.

    Args:
        responses: Responses to judge, from `sample`: its table, its file, or several. The verdicts represent the first;
            those on further responses of the others only correct the judge's errors, and have no weight.
        model: LiteLLM's name of the judge, such as openai/gpt-4o-mini.
        agrees_with: Logs or traces of another model that answered the same questions, as for `read_logs`. They are
            joined by id or question; nothing is asked.
        agrees_with_model: The name of that model, if its logs have several models or name none.
        **options: The fields of `JudgeOptions`, which `help(es.judge)` lists.

    Returns:
        The rows of `responses`, each once, with `label`: the verdict, or whether the second model's answer agrees; null
        with a `reason` if there is none, `budget` or `server` if it could not be asked for. `judge` is the name of the
        model, `witness` is `verdict` or `second-opinion`, and `probability` the judge's probability of "correct" (null
        without log-probabilities). A second opinion has `answer`, and `comparable`: whether the logged response can be
        compared by its text.

    Raises:
        InputError: For a table without the questions and responses.
        ConfigError: For invalid options, or a prompt without its placeholders.
        EntropySentinelError: If the server answers nothing, or the budget does not suffice for one request.
    """
    result = judge_sample(
        responses, JudgeOptions.from_keywords("judge", {"model": model, **options}), agrees_with, agrees_with_model
    )
    if result.interruption is not None:
        if result.interruption.code == InterruptionCode.INTERRUPTED:
            raise KeyboardInterrupt(str(result.interruption))
        log.warning("%s", result.interruption)
    return result.rows


def judge_sample(
    responses: Any, settings: JudgeOptions, agrees_with: Any = None, agrees_with_model: str | None = None
) -> JudgedSample:
    """The result of `judge`, its costs, and what to know about it."""
    ways = {"model": settings.model, "second_opinion": settings.second_opinion, "agrees_with": agrees_with}
    if sum(way is not None for way in ways.values()) != 1:
        raise ConfigError(
            "judge: needs exactly one of "
            f"{format_option('model')}, {format_option('second_opinion')} and {format_option('agrees_with')}"
        )
    if settings.model is not None:
        return _ask_judge(read_sample(responses, (QUESTION, RESPONSE_TEXT)), settings.model, settings)
    if settings.prompt is not None:
        raise ConfigError(
            f"prompt: is a judge's, for {format_option('model')}; a second opinion is asked the logged question"
        )
    if settings.second_opinion is not None:
        return ask_second_model(read_sample(responses, (QUESTION, RESPONSE_TEXT)), settings.second_opinion, settings)
    return join_partner(read_sample(responses, (RESPONSE_TEXT,)), agrees_with, agrees_with_model)


def _ask_judge(rows: pl.DataFrame, model: str, settings: JudgeOptions) -> JudgedSample:
    """The rows of a sample with the verdicts of a judge."""
    prompt = WITHOUT_REFERENCE if settings.prompt is None else _read_prompt(settings.prompt)
    llm = _make_judge(model, settings, prompt)
    texts = rows.select(QUESTION, RESPONSE_TEXT).rows()
    asked = [place for place in order_requests(rows) if None not in texts[place]]
    if not asked:
        raise InputError(f"responses: the judge needs the texts in '{QUESTION}' and '{RESPONSE_TEXT}', which are empty")
    cases = [Case(question, response, "", truncated=False) for question, response in map(texts.__getitem__, asked)]
    verdicts = collect_answers(llm.iterate_verdicts(cases), asked, llm.counts, "responses are judged")
    row_verdicts = [verdicts.by_row.get(place, Verdict(None, reason=NO_TEXTS)) for place in range(len(rows))]
    rows = add_labels(
        rows,
        WitnessKind.VERDICT,
        model,
        [verdict.label for verdict in row_verdicts],
        [verdict.reason for verdict in row_verdicts],
        [verdict.probability for verdict in row_verdicts],
    )
    rows, interruption = keep_answered(rows, verdicts)
    counts = llm.counts
    return JudgedSample(
        rows,
        kind=WitnessKind.VERDICT,
        model=model,
        usd=llm.spent_usd,
        answered=counts["answered"],
        cached=counts["cached"],
        interruption=interruption,
    )


def _make_judge(model: str, settings: JudgeOptions, prompt: Prompt) -> "LlmJudge":
    """The judge that the options describe."""
    llm_settings = settings.model_dump(exclude={"prompt", "second_opinion", "logprobs"}, exclude_none=True)
    # The judge works out the answer before its verdict, so its reply is not only the verdict.
    section = validate_section(Llm, {"kind": "llm", "structured_output": False, **llm_settings})
    try:
        from entropy_sentinel.judges.llm_judge import LlmJudge

        asked = section.tracked({section.prompt: prompt}, None)
        server = section.model_dump(include={*Llm.UNTRACKED})
        return LlmJudge(
            {"version": Llm.VERSION, "judge": JUDGE, "kind": "llm", "llm": asked["llm"]}, server, settings.logprobs
        )
    except ModuleNotFoundError as error:
        raise ConfigError(f"judge: needs {error.name}: {install_command('judge')}") from None


def _read_prompt(path: Path) -> Prompt:
    """The prompt in a file, the message of a user; raises ConfigError for one without its placeholders."""
    try:
        prompt = Prompt(user=path.read_text(encoding="utf-8"))
        check_placeholders(str(path), prompt, (QUESTION, RESPONSE_TEXT))
    except (OSError, ValueError) as error:
        raise ConfigError(f"prompt: {error}") from None
    return prompt


def check_target(path: Path) -> None:
    """Raise InputError if a file exists and is not one of verdicts: it may have somebody's labels."""
    if path.is_file() and path.stat().st_size and JUDGE not in read_label_sheet(path).columns:
        raise InputError(f"--output: {path} exists and is not a file of verdicts; name another file")
