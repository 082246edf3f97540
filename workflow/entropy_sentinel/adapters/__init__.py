"""Layer 1: one module per outside world. No other module imports vLLM, datasets, LiteLLM or math-verify."""
