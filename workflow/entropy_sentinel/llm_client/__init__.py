"""The one LiteLLM client: cache by content, retries, bounded concurrency, masked errors.

Replies are paid for once; `spending` has the ledger, which limits a budget over several processes.
May be imported by: `judges`, `estimators` and every room above.
"""
