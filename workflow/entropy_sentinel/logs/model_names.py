"""Names of models: the same model has one name, whether it was called directly or through LiteLLM.

A provider may also give a model a new name. `SameModels` has the names that a user declares to be the same model.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

# Prefixes that LiteLLM puts before a model's name to say how it is reached. Prefixes that are also names of
# organisations (openai/gpt-oss-20b) belong to the name.
_PROVIDERS = (
    *("azure", "azure_ai", "azure_text", "bedrock", "custom_openai", "databricks", "deepinfra", "fireworks_ai"),
    *("gemini", "groq", "hosted_vllm", "huggingface", "litellm_proxy", "llamafile", "lm_studio", "nvidia_nim"),
    *("ollama", "ollama_chat", "openai_like", "openrouter", "sagemaker", "sagemaker_chat", "text-completion-openai"),
    *("together_ai", "vertex_ai", "vllm", "watsonx"),
)
_PREFIX = f"^(?:{'|'.join(map(re.escape, _PROVIDERS))})/"


def strip_prefixes(name: pl.Expr) -> pl.Expr:
    """Models' names without LiteLLM's prefix: `hosted_vllm/tiny-1m` is `tiny-1m`."""
    return name.str.replace(_PREFIX, "")


def strip_prefix(name: str) -> str:
    """A model's name without LiteLLM's prefix."""
    return re.sub(_PREFIX, "", name)


# The column with the name that the log has, of responses whose model was renamed; null for all others.
LOGGED_MODEL = "model_in_log"


def _matches_pattern(name: str, pattern: str) -> bool:
    """Whether a name has the form of a pattern, in which only * is special."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name, re.DOTALL) is not None


@dataclass(frozen=True)
class SameModels:
    """The names that count as another model's.

    Attributes:
        patterns: Pairs of the model and a pattern of other names, with * for any text.
        watched: Models that no pattern renames, because they have an estimator of their own.
    """

    patterns: tuple[tuple[str, str], ...] = ()
    watched: frozenset[str] = frozenset()

    @classmethod
    def from_pairs(cls, pairs: Iterable[str], watched: Iterable[str] = ()) -> "SameModels":
        """The names of `OLD=NEW` texts; `watched` are further models that no pattern renames."""
        split = (pair.partition("=") for pair in pairs)
        patterns = tuple((strip_prefix(old), strip_prefix(new)) for old, _, new in split)
        return cls(patterns, frozenset(map(strip_prefix, watched)) | {old for old, _ in patterns})

    def find_old_name(self, name: str) -> str | None:
        """The model that a name counts as; null if it is a model of its own."""
        if strip_prefix(name) in self.watched:
            return None
        return next((old for old, pattern in self.patterns if _matches_pattern(strip_prefix(name), pattern)), None)

    def rename(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Responses with the column LOGGED_MODEL, and with their model's old name."""
        if not self.patterns:
            return frame
        names = frame["model"].unique().drop_nulls().to_list()
        old_names = {name: old for name in names if (old := self.find_old_name(name)) is not None}
        is_renamed = pl.col("model").is_in([*old_names])
        return frame.with_columns(
            pl.when(is_renamed).then(strip_prefixes(pl.col("model"))).alias(LOGGED_MODEL),
            model=pl.col("model").replace(old_names),
        )
