"""The config of the judge: kind `web` in the section `judges`."""

from collections.abc import Callable, Set
from typing import Any, ClassVar, Literal, NotRequired

from pydantic import Field, model_validator

from entropy_sentinel.core.secrets import is_secret_name
from entropy_sentinel.core.section_base import Number, Text, Whole
from entropy_sentinel.judges.judge_base import JudgeSettings, Kind
from entropy_sentinel.judges.judge_interface import Judge
from entropy_sentinel.llm_client.server_settings import check_address


class WebSettings(JudgeSettings):
    """The settings that labels of this judge depend on."""

    revision: NotRequired[str]


class Web(Kind):
    """A service that sees question, response and reference, and says whether the response is correct.

    Replies are cached by request, address and revision, so reruns cost nothing. Labels depend on no key but `revision`.
    """

    # Raise it when `judge.py` makes other verdicts from the same replies: labels are rebuilt, from the cache.
    VERSION: ClassVar[int] = 1
    UNTRACKED: ClassVar[Set[str]] = {"address", "variable", "concurrency", "timeout_s", "retries"}

    kind: Literal["web"] = Field(description="web: a service that takes a question, a response and a reference")
    address: Text = Field(description="where requests are sent: https://judge.example.org/v1/judge")
    revision: Text | None = Field(None, description="version of the service, any text; a new value reruns judging")
    variable: Text | None = Field(
        None, description="environment variable with the service's key, such as WEB_JUDGE_KEY; null for no key"
    )
    concurrency: Whole = Field(8, ge=1, le=1024, description="requests at a time")
    timeout_s: Number = Field(60, gt=0, le=86_400, description="longest wait for one reply, seconds")
    retries: Whole = Field(6, ge=0, le=100, description="further tries after 429, 5xx and time-outs")

    @classmethod
    def load(cls) -> Callable[[Any], Judge]:
        """See `Kind.load`."""
        from web_judge.judge import make

        return make

    @model_validator(mode="after")
    def _holds_no_secret(self) -> "Web":
        check_address("address", self.address)
        # Values of variables with other names are not masked in logs.
        if self.variable is not None and not is_secret_name(self.variable):
            raise ValueError("variable must be named like a secret, such as WEB_JUDGE_KEY or JUDGE_TOKEN")
        return self
