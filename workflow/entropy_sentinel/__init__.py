"""Entropy Sentinel: a language model's accuracy per domain, estimated from its log-probabilities.

Layers, each importing from lower ones only (`tests/test_layers.py` walks the imports):

0. `contracts`     the config, the columns of every Parquet file, errors
1. `adapters`      one module per outside world: vLLM, Hugging Face datasets, LiteLLM, math-verify
2. `computation`   features, metrics, splits, estimators: pure functions on frames and arrays
3. `stages`        one module per pipeline stage, joining the three below
4. `presentation`  tables, figures, report, command line
"""

__version__ = "0.1.0"
