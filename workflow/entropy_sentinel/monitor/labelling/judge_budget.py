"""How many verdicts of a judge the dollars pay for: its prices, and the tokens of a request."""

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl

from entropy_sentinel.core.errors import ConfigError, InputError
from entropy_sentinel.core.extras import install_command
from entropy_sentinel.core.option_texts import format_option
from entropy_sentinel.judges.judge_prompts import WITHOUT_REFERENCE
from entropy_sentinel.logs.reader_base import QUESTION
from entropy_sentinel.monitor.monitor_options import JudgeOptions, SampleOptions

# The characters of a token, on average over English text.
CHARACTERS_A_TOKEN = 4
# The longest reply that `judge` allows by default; tokens that it counts for the form of a request.
MAX_TOKENS, TEMPLATE_TOKENS = int(JudgeOptions.model_fields["max_tokens"].default), 256
# LiteLLM's own table of prices, in its package.
_PRICE_TABLE = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True)
class JudgeBudget:
    """What a judge's verdict is expected to cost, and how many the budget pays for.

    Attributes:
        usd: The budget, in US dollars.
        usd_per_verdict: The expected costs of a verdict.
        prompt_tokens: The mean tokens of a prompt, with question and response.
        reply_tokens: The assumed tokens of a reply.
        prices: US dollars for a million tokens of prompts and of replies.
        usd_reserved: What must be left for the last request, beyond the costs of a verdict: `judge` sends a request
            only if its longest reply can be paid.
        source: Where the prices come from, if not from options, else empty.
        model: LiteLLM's name of the judge, if it was given, else empty.
    """

    usd: float
    usd_per_verdict: float
    prompt_tokens: float
    reply_tokens: int
    prices: tuple[float, float]
    usd_reserved: float = 0.0
    source: str = ""
    model: str = ""

    @property
    def n_affordable(self) -> int:
        """The number of verdicts that the budget pays for; a very large one if they cost nothing."""
        if not self.usd_per_verdict:
            return 10**12
        return max(int((self.usd - self.usd_reserved) / self.usd_per_verdict + 1e-9), 0)

    def usd_for(self, n_verdicts: int) -> float:
        """A budget that pays for so many verdicts, US dollars: the least one, rounded up to two digits."""
        usd = n_verdicts * self.usd_per_verdict + self.usd_reserved
        if not usd:
            return 0.0
        unit = 10.0 ** (math.floor(math.log10(usd)) - 1)
        return float(f"{math.ceil(usd / unit - 1e-9) * unit:.6g}")


def plan_judge_budget(rows: pl.DataFrame, options: SampleOptions) -> JudgeBudget | None:
    """The budget for a judge of responses with texts; null if none is planned.

    A verdict costs the tokens of the package's prompt with the mean question and response, and those of a reply. Raises
    ConfigError for unknown prices, and InputError if the responses have no texts.
    """
    if options.judge_usd is None:
        return None
    prices, source = _find_prices(options)
    texts = rows.select(pl.col(QUESTION, "response").str.len_chars()).drop_nulls()
    if texts.is_empty():
        raise InputError(
            "judge_usd: the judge needs the texts of questions and responses, which these responses lack; give logs "
            "that have them"
        )
    prompt = f"{WITHOUT_REFERENCE.system}{WITHOUT_REFERENCE.user}"
    placeholders = len("{question}{response}")
    characters = len(prompt) - placeholders + float(texts.select(pl.sum_horizontal(pl.all()).mean()).item())
    prompt_tokens = characters / CHARACTERS_A_TOKEN
    usd = _compute_usd(prices, prompt_tokens, options.judge_reply_tokens)
    filled = rows.select(QUESTION, "response").drop_nulls().select(pl.concat_str(pl.lit(prompt), pl.all())).to_series()
    longest = max(filled, key=lambda text: len(text.encode()))
    # As the client counts them: no tokenizer makes more tokens than bytes of JSON.
    most_tokens = len(json.dumps(longest, ensure_ascii=False).encode()) + TEMPLATE_TOKENS
    largest = _compute_usd(prices, most_tokens, max(MAX_TOKENS, options.judge_reply_tokens))
    return JudgeBudget(
        options.judge_usd,
        usd_per_verdict=usd,
        prompt_tokens=prompt_tokens,
        reply_tokens=options.judge_reply_tokens,
        prices=prices,
        usd_reserved=max(largest - usd, 0.0),
        source=source,
        model=options.judge_model or "",
    )


def _compute_usd(prices: tuple[float, float], prompt_tokens: float, reply_tokens: float) -> float:
    """The costs of a request in US dollars; `prices` are those of a million tokens of prompts and of replies."""
    return (prompt_tokens * prices[0] + reply_tokens * prices[1]) / 1e6


def _find_prices(options: SampleOptions) -> tuple[tuple[float, float], str]:
    """The prices of a million tokens of prompts and replies, and their source; raises ConfigError if unknown."""
    option_prices = options.usd_per_million_input_tokens, options.usd_per_million_output_tokens
    if option_prices[0] is not None and option_prices[1] is not None:
        return (option_prices[0], option_prices[1]), ""
    prompts, replies = map(format_option, ("usd_per_million_input_tokens", "usd_per_million_output_tokens"))
    options_text = f"{prompts} and {replies}, from the provider's list"
    if options.judge_model is None:
        raise ConfigError(
            f"judge_usd: needs the judge's prices: give {options_text}, or {format_option('judge_model')} if LiteLLM "
            "knows "
            "the model"
        )
    table = _price_table()
    if not table:
        raise ConfigError(
            f"judge_model: LiteLLM, whose table has the prices, is not installed: {install_command('judge')}, or give "
            f"{options_text}"
        )
    provider, _, name = options.judge_model.rpartition("/")
    entry = table.get(options.judge_model) or table.get(name, {})
    if entry.get("litellm_provider") != provider and options.judge_model not in table:
        entry = {}
    prices = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not all(isinstance(price, int | float) for price in prices):
        raise ConfigError(f"judge_model: LiteLLM has no prices of '{options.judge_model}'; give {options_text}")
    return (1e6 * prices[0], 1e6 * prices[1]), f"LiteLLM {version('litellm')}"


@cache
def _price_table() -> dict[str, Any]:
    """LiteLLM's prices by model, read without importing it; empty if it is not installed or has no table."""
    found = find_spec("litellm")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / _PRICE_TABLE
        if path.is_file():
            table = json.loads(path.read_text(encoding="utf-8"))
            return table if isinstance(table, dict) else {}
    return {}
