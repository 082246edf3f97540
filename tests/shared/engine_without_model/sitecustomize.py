"""On PYTHONPATH, gives every engine process an engine that needs no model: see tests/study/engines/test_pool.py."""

import sys

if "entropy_sentinel.study.engines.engine_host" in sys.orig_argv:
    from without_model import EngineWithoutModel

    from entropy_sentinel.study.engines import vllm_engine

    vllm_engine.VllmEngine = EngineWithoutModel
