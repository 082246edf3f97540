"""Run by test_vllm_by_ids.py in a process of its own: a model is asked by token ids for continuations and beams.

    python by_ids_probe.py MODEL IN OUT

IN has `continuations`, pairs of token ids, and `searches`: contexts with the arguments of `Engine.beams`.
"""

import json
import sys
from pathlib import Path
from typing import Any

import yaml

from entropy_sentinel.engines.cpu import for_contexts
from entropy_sentinel.engines.vllm import VllmEngine

DEMO = Path(__file__).parents[2] / "demo"


def main(model: str, asked: dict[str, Any]) -> dict[str, Any]:
    generation = yaml.safe_load((DEMO / "config.yaml").read_text())["generation"]
    settings = {
        "model": "probe",
        "weights": model,
        "local": True,
        "lora": None,
        "seed": 42,
        "engine_args": for_contexts(generation["engine_args"]),
        "environment": generation["environment"],
        "sampling": {"temperature": 0.5, "max_tokens": 100},
        "chat_template_kwargs": {},
        "template_date": None,
        "keep_top_token_ids": False,
    }
    engine = VllmEngine(settings, 1)
    given = sorted(engine.continuations(map(tuple, asked["continuations"])))
    searches = [
        [{"refused": one.refused, "found": [vars(beam) for beam in one.found]} for _, one in sorted(found)]
        for contexts, arguments in asked["searches"]
        for found in [engine.beams(contexts, **arguments)]
    ]
    return {"continuations": [[one.logprobs.tolist(), one.refused] for _, one in given], "searches": searches}


if __name__ == "__main__":
    Path(sys.argv[3]).write_text(json.dumps(main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text()))))
