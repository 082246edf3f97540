"""Floor 1: the one LiteLLM client."""
