"""Run by test_vllm_engine.py in a process of its own: one engine, asked in several ways; writes what it answers.

The model is a copy of tiny-1m whose chat template begins with today's date; the LoRA adapter is random.
"""

import json
import shutil
import sys
from pathlib import Path

import torch
import yaml
from safetensors.torch import save_file

from entropy_sentinel.study.engines.engine_registry import PROMPTS
from entropy_sentinel.study.engines.vllm_engine import VllmEngine

DEMO = Path(__file__).parents[2] / "demo"
ROWS = (DEMO / "benchmarks" / "averages.jsonl").read_text().splitlines()[:6]
QUESTIONS = [json.loads(row)["question"] for row in ROWS]

# As a base model is asked, without a chat template.
PLAIN = "Q: What is 1 + 1?\nA: 2\n\nQ: {question}\nA:"


def make_model(folder: Path) -> str:
    """A copy of tiny-1m that begins its prompts with the date."""
    shutil.copytree(DEMO / "models" / "tiny-1m", folder)
    template = folder / "chat_template.jinja"
    template.write_text('{{ strftime_now("%Y-%m-%d") }}' + template.read_text())
    return str(folder)


def make_lora(folder: Path) -> str:
    """A random adapter of rank 8 on the queries and values of four layers."""
    folder.mkdir()
    torch.manual_seed(0)
    weights = {}
    for layer in range(4):
        for matrix in ("q_proj", "v_proj"):
            name = f"base_model.model.model.layers.{layer}.self_attn.{matrix}"
            weights[f"{name}.lora_A.weight"] = torch.randn(8, 160)
            weights[f"{name}.lora_B.weight"] = torch.randn(160, 8)
    save_file(weights, str(folder / "adapter_model.safetensors"))
    settings = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(settings | {"task_type": "CAUSAL_LM", "bias": "none"}))
    return str(folder)


def main(folder: Path) -> None:
    generation = yaml.safe_load((DEMO / "config.yaml").read_text())["generation"]
    settings = {
        "model": "probe",
        "weights": make_model(folder / "model"),
        "local": True,
        "lora": make_lora(folder / "lora"),
        "seed": 42,
        "engine_args": generation["engine_args"],
        "environment": generation["environment"],
        "sampling": {"temperature": 0.5, "max_tokens": 100},
        "chat_template_kwargs": {},
        "template_date": "2025-11-01",
        "keep_top_token_ids": True,
    }
    engine = VllmEngine(settings, 1)
    prompt = PROMPTS["solve-step-by-step"]
    messages, seeds = [prompt.render(question=question) for question in QUESTIONS], list(range(len(QUESTIONS)))
    result = {}
    for name, changes in {
        "lora": {},
        "base": {"lora": None, "keep_top_tokens": True},
        "other_date": {"lora": None, "template_date": "2025-11-02"},
    }.items():
        settings.update(changes)
        answers = dict(engine.answer(messages, seeds))
        result[name] = [
            {key: getattr(value, "tolist", lambda value=value: value)() for key, value in vars(answers[i]).items()}
            for i in range(len(messages))
        ]
    texts = [PLAIN.format(question=question) for question in QUESTIONS]
    result["plain"] = [
        {name: getattr(one, name) for name in ("text", "prompt_tokens")}
        | {name: getattr(one, name).tolist() for name in ("token_ids", "token_logprobs", "top_logprobs")}
        for _, one in sorted(engine.answer(texts, seeds), key=lambda answer: answer[0])
    ]
    # One that is longer than the model's context, among others.
    asked = list(engine.answer([messages[0], prompt.render(question="1 + 1 = 2. " * 2000), messages[1]], seeds[:3]))
    result["overlong"] = [(position, vars(one)["finish_reason"], one.text) for position, one in asked]
    (folder / "answers.json").write_text(json.dumps({"provenance": engine.provenance, **result}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
