"""The one LiteLLM client: cache by content, retries, bounded concurrency, masked errors."""
