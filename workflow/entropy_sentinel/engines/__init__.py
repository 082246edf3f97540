"""Engines, which answer questions: vLLM in this process, or a server behind an API."""
