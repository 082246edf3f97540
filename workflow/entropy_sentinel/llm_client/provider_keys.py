"""The environment variables with the keys of LiteLLM's providers.

LiteLLM has such a list, too, but its import takes seconds, and planning waits for this one. A test compares the two.
"""

from collections.abc import Mapping

# Providers with a key in `PROVIDER_API_KEY`.
_USUAL = (
    "anthropic",
    "cerebras",
    "cohere",
    "dashscope",
    "deepinfra",
    "deepseek",
    "groq",
    "mistral",
    "moonshot",
    "nebius",
    "nvidia_nim",
    "openai",
    "openrouter",
    "xai",
)
# Variables of which one is enough, by provider. A provider that is in neither list may need no key, such as a server
# of one's own, or more than a key, such as a cloud.
_VARIABLES: dict[str, tuple[str, ...]] = {provider: (f"{provider.upper()}_API_KEY",) for provider in _USUAL} | {
    "azure": ("AZURE_API_KEY", "AZURE_AD_TOKEN", "AZURE_CLIENT_ID"),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY", "FIREWORKSAI_API_KEY", "FIREWORKS_AI_TOKEN"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "perplexity": ("PERPLEXITYAI_API_KEY", "PERPLEXITY_API_KEY"),
    "together_ai": ("TOGETHERAI_API_KEY", "TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHER_AI_TOKEN"),
}
# Models that LiteLLM knows without their provider.
_OPENAI = ("gpt-", "o1", "o3", "o4", "chatgpt-")


def key_variables(model: str) -> tuple[str, ...]:
    """The variables of which one must hold the key of LiteLLM's `model`; empty if none is known to be needed."""
    provider, slash, _ = model.partition("/")
    if not slash:
        provider = ""
        if model.startswith(_OPENAI):
            provider = "openai"
        elif model.startswith("claude-"):
            provider = "anthropic"
    return _VARIABLES.get(provider, ())


def missing_key(model: str, environment: Mapping[str, str]) -> str | None:
    """The variable to set for LiteLLM's `model`; None if its key is there, or it is not known to need one."""
    variables = key_variables(model)
    if not variables or any(environment.get(name, "").strip() for name in variables):
        return None
    return variables[0]
