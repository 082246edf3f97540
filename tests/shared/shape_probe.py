"""Run by test_shapes.py in a process of its own: the generation stage and features of every shape, scaled down.

All engines load one after the other in this process, which takes a third of the time of a process for each.
"""

import gc
import json
import sys
import time
from pathlib import Path
from typing import Any

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.study.engines.engine_registry import PROMPTS
from entropy_sentinel.study.engines.vllm_engine import VllmEngine
from entropy_sentinel.study.stages import generation_stage
from entropy_sentinel.study.stages.feature_stage import write_features
from shapes import spread_weights
from shapes.model_folder import load_shapes, write_model_folder

QUESTIONS = ["What is 1 + 1?", "How many legs have three spiders?"]
# The token after which features begin, for models that think first.
TRACE_AFTER = {"gpt-oss-20b": "<|message|>", "qwen3-4b": "</think>", "qwen3-8b": "</think>"}
# Their encoders of pictures and number formats are the only parts that a CPU build of vLLM does not load.
SCALED_DOWN = {"scaled_down": True, "text_only": True, "quantized": False}
ARGUMENTS = {
    "dtype": "float32",
    "load_format": spread_weights.FORMAT,
    "max_model_len": 512,
    "max_num_seqs": 8,
    "num_gpu_blocks_override": 64,
}


def generation_settings(name: str, folder: Path) -> dict[str, Any]:
    """Return the settings of the generation job of a shape."""
    shape = load_shapes()[name]
    frequent = [*shape["end_tokens"][:1], *(n for n, text in shape["special"].items() if text == TRACE_AFTER.get(name))]
    return {
        **{
            "engine": "vllm",
            "model": name,
            "benchmark": "items",
            "weights": str(folder),
            "local": True,
            "revision": None,
        },
        **{"lora": None, "lora_revision": None, "template_date": "2025-11-01", "seed": 42, "environment": {}},
        "engine_args": {**ARGUMENTS, "model_loader_extra_config": {"frequent": frequent, "seed": 2}},
        "sampling": {"temperature": 1.0, "max_tokens": 16},
        **{"prompt": "solve-step-by-step", "samples": 4, "top_k": 20, "keep_top_token_ids": True},
        "chat_template_kwargs": {"enable_thinking": False} if name == "qwen3-8b" else {},
    }


def probe(name: str, folder: Path, items: str) -> dict[str, Any]:
    """Write a shape's traces and features; return what its engine says about itself."""
    settings = generation_settings(name, write_model_folder(name, folder / "model", **SCALED_DOWN))
    made: list[VllmEngine] = []

    def make_engine(settings: Any, threads: int) -> VllmEngine:
        made.append(VllmEngine(settings, threads))
        return made[0]

    spread_weights.register()
    generation_stage.make_engine = make_engine  # type: ignore[assignment]
    output = str(folder / "results" / "generations" / name / "items.parquet")
    begin = time.process_time()
    generation_stage.write_generations(items, settings, 1, output)  # type: ignore[arg-type]
    features = {"trace_after": TRACE_AFTER.get(name), "vocabulary": made[0].vocabulary}
    write_features(output, features, str(folder / "features.parquet"))  # type: ignore[arg-type]
    prompts = made[0].prompts([PROMPTS[settings["prompt"]].render(question=question) for question in QUESTIONS])
    return {
        "architecture": made[0]._engine.model_config.architecture,
        "vocabulary": made[0].vocabulary,
        "end_tokens": sorted(made[0]._end_tokens()),
        "prompts": [{"hash": prompt.hash, "token_ids": list(prompt.token_ids)} for prompt in prompts],
        "cpu_s": time.process_time() - begin,
    }


def main(folder: Path) -> None:
    items, results = str(folder / "items.parquet"), {}
    ids = [f"q{number}" for number in range(len(QUESTIONS))]
    columns = {"item_id": ids, "question": QUESTIONS, "reference": [None] * len(ids), "duplicate_of": ids}
    BENCHMARKS.write(BENCHMARKS.frame(columns), items, {})
    for name in sys.argv[2:] or load_shapes():
        results[name] = probe(name, folder / name, items)
        # Engines collect garbage several times as they load: without what they share that takes no time.
        gc.freeze()
        gc.unfreeze = lambda: None
    (folder / "probe.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
