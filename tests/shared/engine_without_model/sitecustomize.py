"""On PYTHONPATH, gives every engine process an engine that needs no model: see tests/engines/test_pool.py."""

import sys

if "entropy_sentinel.engines.host" in sys.orig_argv:
    from without_model import EngineWithoutModel

    from entropy_sentinel.engines import vllm

    vllm.VllmEngine = EngineWithoutModel
