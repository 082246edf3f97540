"""The remaining work and cost of each judge behind a server."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from entropy_sentinel.formatting.text_format import format_millions
from entropy_sentinel.judges.judge_base import make_account
from entropy_sentinel.llm_client.spending.ledger import Ledger, Terms
from entropy_sentinel.rendering.terminal_text import Part, format_terminal_table
from entropy_sentinel.study.config.generation_requests import get_ledger_path
from entropy_sentinel.study.config.label_requests import find_paid_judges, judge_settings
from entropy_sentinel.study.config.study_config import Config
from entropy_sentinel.study.planning.response_cost import Outlook

# Tokens of a judge's prompt besides the response: question, reference, instructions.
_TEMPLATE_TOKENS = 200


@dataclass(frozen=True)
class Judging:
    """The responses that one judge labels for one model, those left, and their tokens and dollars.

    Dollars are None if the config has no prices; `most_usd` assumes the longest responses and replies.
    """

    judge: str
    model: str
    responses: int
    left: int
    prompt_tokens: float
    completion_tokens: float
    usd: float | None
    most_usd: float | None


def plan_judging(outlook: Outlook) -> list[Judging]:
    """The work of every judge behind a server for every model; cached replies do not count as left."""
    config = outlook.config
    work: list[Judging] = []
    # A judge may be asked by judges of the study that combine several judges.
    for judge, requesting_judges in find_paid_judges(config).items():
        accounts = _read_accounts(config, judge)
        for model in config.run.models:
            total, left = _count_responses(outlook, accounts, judge, requesting_judges, model)
            work.append(_estimate_costs(outlook, accounts, judge, model, total, left))
    return work


def _count_responses(
    outlook: Outlook, accounts: Mapping[str, Mapping[str, float]], judge: str, requesting_judges: list[str], model: str
) -> tuple[int, int]:
    """How many responses of a model `judge` must judge, and how many of these are left.

    `requesting_judges` are those of `run.judges` that ask it: itself, or combinations of judges. If a combination asks
    its judges in turn, all responses count, because the decisions of the judges before it are not known yet.
    `accounts` has the calls so far by account: the judge's settings, the model and the benchmark.
    """
    config, settings = outlook.config, judge_settings(outlook.config, judge)
    template = config.layout.labels
    total = left = 0
    for benchmark in config.run.benchmarks:
        is_judged = any(judge in config.basic_judges(name, benchmark) for name in requesting_judges)
        if not is_judged or not config.benchmarks[benchmark].reference:
            continue
        responses = outlook.responses[model, benchmark].total or 0
        total += responses
        if any(
            outlook.is_to_make(template, judge=name, model=model, benchmark=benchmark) for name in requesting_judges
        ):
            request_settings = settings.get("llm", settings)  # what an LLM judge sends, which names its account
            account_row = accounts.get(make_account(request_settings, model, benchmark), {})
            left += max(0, responses - int(account_row.get("calls", 0)))
    return total, left


def _estimate_costs(
    outlook: Outlook, accounts: Mapping[str, Mapping[str, float]], judge: str, model: str, responses: int, left: int
) -> Judging:
    """Tokens and dollars of the responses left, by the mean tokens of the calls so far, else by the config's rates.

    `accounts` has the judge's calls so far and their tokens, over all models, by account (`_read_accounts`).
    """
    settings = outlook.config.judges[judge]
    rates, _origin = outlook.rates[model]
    longest_response = outlook.max_response_tokens(model)
    prompt = min(rates.tokens_per_response, longest_response) + _TEMPLATE_TOKENS
    reply = rates.tokens_per_judgement
    calls = _sum_accounts(accounts, "calls")
    if calls:
        prompt = _sum_accounts(accounts, "prompt_tokens") / calls
        reply = _sum_accounts(accounts, "completion_tokens") / calls
    reply = min(reply, settings.longest_reply)
    usd = most_usd = None
    if None not in settings.prices:
        terms = Terms(*settings.prices)
        usd = left * terms.usd(prompt, reply)
        most_usd = left * terms.usd(longest_response + _TEMPLATE_TOKENS, settings.longest_reply)
    return Judging(
        judge=judge,
        model=model,
        responses=responses,
        left=left,
        prompt_tokens=left * prompt,
        completion_tokens=left * reply,
        usd=usd,
        most_usd=most_usd,
    )


def _read_accounts(config: Config, judge: str) -> dict[str, dict[str, float]]:
    """The accounts of a judge by name, each with its sums of calls, tokens and dollars; empty if it was not asked yet.

    There is an account for each of its settings, models and benchmarks.
    """
    path = get_ledger_path(config, f"judges.{judge}")
    if not Path(path).is_file():
        return {}
    return {row["account"]: row for row in Ledger(path, Terms()).accounts()}


def _sum_accounts(accounts: Mapping[str, Mapping[str, float]], name: str) -> float:
    """The sum of one column, such as `calls`, over all accounts."""
    return sum(row[name] for row in accounts.values())


def describe_judging(config: Config, judge_work: list[Judging]) -> list[Part]:
    """The forecast per judge and model as shown, and the rest of each budget."""
    if not judge_work:
        return []
    headings = ("judge", "model", "responses", "left", "tokens in (M)", "tokens out (M)", "USD", "USD at most")
    parts: list[Part] = [
        "Left for judges behind servers. Cached replies cost nothing, but this forecast does not know them.",
        format_terminal_table(headings, [_format_row(work) for work in judge_work]),
        "USD: from the mean tokens of this study's calls so far, else from `rates`; at most: if responses and replies "
        "have their maximum length.",
    ]
    for judge in find_paid_judges(config):
        budget = config.judges[judge].budget
        if budget is not None:
            accounts = _read_accounts(config, judge)
            spent, unanswered = _sum_accounts(accounts, "usd"), _sum_accounts(accounts, "unanswered_usd")
            reserved = f", {unanswered:,.2f} are reserved for requests without a reply" if unanswered else ""
            parts.append(f"Judge {judge}: budget {budget:,.2f} USD, {spent:,.2f} are spent{reserved}.")
        elif any(work.judge == judge and work.usd is None for work in judge_work):
            parts.append(f"Judge {judge} has no prices: set usd_per_million_input_tokens and ..._output_tokens.")
    return parts


def _format_row(work: Judging) -> list[str]:
    return [
        work.judge,
        work.model,
        f"{work.responses:,}",
        f"{work.left:,}",
        format_millions(work.prompt_tokens),
        format_millions(work.completion_tokens),
        _format_usd(work.usd),
        _format_usd(work.most_usd),
    ]


def _format_usd(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
