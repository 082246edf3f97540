"""The base of the kinds of judges, and the settings of their jobs."""

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

from entropy_sentinel.core.section_base import Settings
from entropy_sentinel.judges.judge_interface import Judge, Unanswered
from entropy_sentinel.llm_client.server_settings import Prompt, ServedSettings


class Kind(Settings):
    """The base class of the kinds of judges.

    Its jobs are told the keys in `UNTRACKED`: `llm_client.server_settings.read_announced_server("judges.NAME")`.
    """

    # Raise it when verdicts change: labels of this kind are then rebuilt. It replaces a code hash, because labels
    # may cost money, and other changes of the code must not rebuild them.
    VERSION: ClassVar[int] = 1
    # Whether a benchmark's tolerance is one of the judge's settings.
    TOLERANT: ClassVar[bool] = False
    # Whether its labels are imported from files.
    IMPORTED: ClassVar[bool] = False
    # Whether the tokens and costs of its requests go to a ledger (llm_client/spending): `plan` and costs.csv show them.
    HAS_LEDGER: ClassVar[bool] = False

    @property
    def served_by(self) -> str | None:
        """The model of the config that its jobs serve and ask; None if they start no server."""
        return None

    @property
    def asks_with(self) -> str | None:
        """The name of its prompt; None without one."""
        return None

    @property
    def prices(self) -> tuple[float | None, float | None]:
        """USD per million tokens of prompts and of replies, if it asks a server and they are known."""
        return None, None

    @property
    def budget(self) -> float | None:
        """Most USD for the study's requests; None without a limit."""
        return None

    @property
    def longest_reply(self) -> float:
        """Most tokens of a reply."""
        return math.inf

    @classmethod
    def load(cls) -> Callable[[Any], Judge]:
        """Import and return the function that makes the judge from `JudgeSettings`; none for one that combines others.

        Raises NotImplementedError if a kind has none.
        """
        raise NotImplementedError(f"{cls.__name__}: has no judge of its own")

    def tracked(self, prompts: Mapping[str, Prompt], served: ServedSettings | None) -> dict[str, Any]:
        """The settings that labels depend on, besides `VERSION`: a change rebuilds the labels.

        `prompts` are the config's prompts for judges by name, and `served` has the settings of the model `served_by`.
        """
        return self.model_dump(exclude_none=True, exclude={*self.UNTRACKED})

    def file(self, model: str, benchmark: str) -> str | None:
        """The file of imported labels of a model's responses to a benchmark; None if labels are not imported."""
        return None

    def missing_file(self, model: str, benchmark: str) -> Iterator[tuple[Path, str]]:
        """Yield the local file that must exist, and the error if it is missing, which begins with a key: `.path: `."""
        return iter(())


class LlmSettings(TypedDict):
    """The settings of a request to an LLM judge: `Llm.ASKED` and its prompt."""

    model: str
    revision: str | None
    prompt: str
    shown: Literal["response", "answer"]
    structured_output: bool
    temperature: float | None
    max_tokens: int
    prompt_version: int
    messages: list[dict[str, str]]


class JudgeSettings(TypedDict):
    """The settings that a judge's labels depend on, compared by Snakemake. Its kind adds further keys."""

    version: int
    judge: str
    kind: str
    llm: NotRequired[LlmSettings]
    server: NotRequired[ServedSettings]  # for a judge that its jobs serve
    tolerance: NotRequired[dict[str, Any]]  # the benchmark's
    no_option: NotRequired[str]  # for judges of multiple-choice questions
    unanswered: NotRequired[Unanswered]  # for judges that compare answers, unless it is "unlabelled"
    path: NotRequired[str]
    judges: NotRequired[list[str]]
    members: NotRequired[dict[str, "JudgeSettings"]]  # the settings that the labels of each of `judges` depend on
    replaces: NotRequired[str]  # for a benchmark's own judge: the judge of the study in whose folder its labels are
    content: NotRequired[str]  # for label files (study/jobs/file_content.py)


# Settings of a judge's jobs that differ between benchmarks.
_BENCHMARK_KEYS = ("replaces", "tolerance")


def make_account(settings: Mapping[str, Any], model: str, benchmark: str) -> str:
    """The account of calls in a judge's ledger: `model/benchmark/hash`, a hash of the settings of a request.

    For LLM judges these are `LlmSettings`; for all others, the settings of the judge's jobs.
    """
    request_settings = {key: value for key, value in settings.items() if key not in _BENCHMARK_KEYS}
    digest = hashlib.sha256(json.dumps(request_settings, sort_keys=True).encode()).hexdigest()
    return f"{model}/{benchmark}/{digest[:12]}"
