"""Names of models: the same model has one name, whether it was called directly or through LiteLLM."""

import re

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


def without_provider(name: pl.Expr) -> pl.Expr:
    """Return models' names without LiteLLM's prefix: `hosted_vllm/tiny-1m` is `tiny-1m`."""
    return name.str.replace(_PREFIX, "")


def bare(name: str) -> str:
    """Return a model's name without LiteLLM's prefix."""
    return re.sub(_PREFIX, "", name)
