"""Studies that cannot be: the message names the place, what stands there and what may, and shows no secret."""

import re
from pathlib import Path
from typing import Any

import pytest
from studies import PAPER, refusal

KEY = "sk-1a2b3c"
API = {"model": "openai/a"}
LLM = {"kind": "llm"}
BOXED = {"system": "Put the answer in \\boxed{answer}.", "user": "{question}"}
GRADED = {"user": "{question}\n{response}\n{reference}"}
LEVEL = {"user": "{question} Be {level} % sure, {name}."}
SHOTS = {"text": "Q: 1 + 1?\nA: 2\n\nQ: {question}\nA:"}
BASE = {"id": "me/base", "prompt": "shots"}


def shots(prompt: dict[str, str] = SHOTS, **changes: Any) -> dict[str, Any]:
    """A study of a model that goes on from a plain text."""
    return {"prompts.shots": prompt, "models.base": BASE} | changes


def mine(*messages: dict[str, str], **prompt: Any) -> dict[str, Any]:
    """A study that asks with a prompt of its own."""
    return {"prompts.mine": prompt | ({"messages": [*messages]} if messages else {}), "generation.prompt": "mine"}


def tolerance(**expected: Any) -> dict[str, Any]:
    return {"benchmarks.scibench.tolerance": expected}


def leveled(**model: Any) -> dict[str, Any]:
    """A variant of a model of which the prompt may be asked for a level."""
    return {"prompts.level": LEVEL, "run.models": ["qwen3-8b", "a"], "models.a": {"extends": "qwen3-8b"} | model}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        # Models and their engines.
        ({"models.qwen3-4b.temprature": 0.7}, "^config.yaml: models.qwen3-4b: .*'temprature'; known keys: id, revis"),
        ({"models.qwen3-4b.sampling": {"temprature": 0.7}}, "models.qwen3-4b.sampling: .*'temprature'; known"),
        ({"models.qwen3-4b.rates": {"speed": 1}}, "models.qwen3-4b.rates: .*'speed'; known keys: tokens_per_r"),
        ({"models.qwen3-4b.id": "/my/folder"}, "models.qwen3-4b.id: .*owner/name.*'path'"),
        ({"models.qwen3-4b.lora": "nowhere"}, "models.qwen3-4b.lora: .*adapter_config.json"),
        ({"models.qwen3-8b.path": "somewhere"}, "models.qwen3-8b: needs exactly one of 'id'"),
        ({"models.qwen3-8b": {"path": "models/none"}}, "models.qwen3-8b.path: .*config.json.*'models/none'"),
        ({"models.x": {"path": "a.jsonl", "revision": "b"}}, "models.x: 'revision' is a key of 'id' and 'api'"),
        ({"models.x": {"api": API, "lora": "b"}}, "models.x: 'lora' .*server"),
        ({"models.x": {"api": API, "template_date": "2025-11-01"}}, "models.x: 'template_date' cannot be sent"),
        (
            {"models.x": {"api": {"model": "ollama_chat/qwen3:4b"}}},
            "models.x.api.model: .*{model: hosted_vllm/qwen3:4b, base_url: http://localhost:11434/v1}",
        ),
        ({"models.x": {"api": API | {"base_url": f"https://me:{KEY}@a.org/v1"}}}, "models.x.api: base_url .*password"),
        ({"models.x": {"api": API | {"base_url": f"https://a.org/v1?key={KEY}"}}}, "models.x.api: base_url .*query"),
        ({"generation.environment": {"HF_TOKEN": "x"}}, "'HF_TOKEN' looks like a secret"),
        ({"generation.engine_args": {"model": "a/b"}}, "'model' is set by the pipeline.* models.<name>.id"),
        ({"generation.engine_args": {"logprobs_mode": "processed_logprobs"}}, "'logprobs_mode' is set by the pipeline"),
        ({"generation.engine_args": {"max-logprobs": 5}}, "'max-logprobs' is not a keyword argument"),
        # An unknown name is told before a missing file.
        (
            {"models.qwen3-8b": {"path": "models/none"}, "run.benchmarks": ["gsm8k", "mathe"]},
            f"^config.yaml: .*run.benchmarks: 'mathe'; known: {', '.join(PAPER['benchmarks'])}",
        ),
        # Two rows of a table must not look the same.
        ({"models.qwen3-8b.title": "Qwen3 (4B)"}, "models.qwen3-8b.title: 'Qwen3 .4B.' .*models.qwen3-4b"),
        ({"benchmarks.svamp.title": "gsm8k", "benchmarks.gsm8k.title": None}, "benchmarks.svamp.title: 'gsm8k'"),
        ({"analyses.accuracy.style": "acl"}, "analyses.accuracy.style: .*'full' or 'paper'"),
        # Models that extend another.
        (leveled(extends="qwen"), "models.a.extends: 'qwen'; known: phi-3.5-mini"),
        (leveled(extends="b") | {"models.b": {"extends": "a"}}, "models.a.extends: .* a -> b -> a"),
        (leveled(path="here"), "models.a: takes its weights from 'qwen3-8b'"),
        ({"models.a": {"extends": "qwen3-8b", "prompt": "levl"}}, "models.a.prompt: 'levl'; known: "),
        (leveled(prompt="level"), "'{level}'; known: {question}, "),
        (
            leveled(prompt="level", prompt_variables={"level": 9}),
            "'{name}'; known: {question}, {response}, {reference}, {level};",
        ),
        (leveled(prompt_variables={"level": 9, "name": "x"}), "generation.prompt: .*'solve-step-by-step' .*{level}"),
        (leveled(prompt_variables={"question": 9}), "'question' must be lower-case letters"),
        # Prompts, and texts that a model goes on from.
        (mine(), "prompts.mine: .*'user' .*'system'.*'messages'"),
        (mine(system="{question}"), "prompts.mine: .*'user'"),
        (mine({"role": "user", "content": "x"}, **BOXED), "prompts.mine: .*'user'"),
        (mine(user="{qestion}"), "'{qestion}'; known: {question}, {response}, {reference}"),
        (mine(user="{question}", sytem="x"), "prompts.mine: .*'sytem'; known keys: version, system, user"),
        (mine({"role": "assistant", "content": "{question}"}), "role 'assistant'"),
        (mine({"role": "tool", "content": "{question}"}), "prompts.mine.messages.0.role: "),
        (mine(user="Solve it."), "generation.prompt: prompt 'mine' .*{question}"),
        (mine(**GRADED), "generation.prompt: prompt 'mine' .*{reference}"),
        ({"prompts.corresponds": GRADED}, "prompts.corresponds: a built-in prompt"),
        ({"generation.prompt": "corresponds"}, "generation.prompt: 'corresponds'"),
        (shots(SHOTS | {"user": "{question}"}), "prompts.shots: .*'user'"),
        (shots(SHOTS | {"system": "Be brief."}), "prompts.shots: .*'user'"),
        (shots({"text": "2 + 2"}), "models.base.prompt: prompt 'shots' .*{question}"),
        (shots(**{"judges.x": LLM | {"prompt": "shots"}}), "judges.x.prompt: prompt 'shots' is plain text.*'user'"),
        (
            shots(**{"models.base": {"extends": "qwen3-8b", "prompt": "shots"}, "run.models": ["base"]}),
            "models.base.chat_template_kwargs: prompt 'shots' is plain text",
        ),
        # Judges, what they are asked and what they cost.
        ({"judges.math-verify.kind": "math"}, "judges.math-verify: .*'kind': math-verify or llm"),
        ({"judges.x": {"kind": "math-verify", "path": "a"}}, r"judges.x: 'path' .*kind 'file'"),
        ({"judges.labels": {"kind": "math-verify"}}, "judges.labels: .*folder 'labels'"),
        ({"judges.x": LLM | {"prompt": "mine"}}, "judges.x.prompt: 'mine'; known: corresponds"),
        ({"prompts.mine": BOXED, "judges.x": LLM | {"prompt": "mine"}}, "judges.x.prompt: prompt 'mine' .*{response}"),
        (
            {"judges.x": LLM | {"budget_usd": 5}},
            "judges.x: budget_usd needs usd_per_million_input_tokens and usd_per_million_output_tokens",
        ),
        ({"judges.x": LLM | {"usd_per_million_input_tokens": 1}}, "judges.x: .*_input_tokens and .*_output_tokens"),
        ({"judges.x": LLM | {"budget": 5}}, "judges.x: .*'budget'; known keys: kind, model"),
        ({"judges.x": LLM | {"shown": "all"}}, "judges.x.shown: .*'response' or 'answer', got 'all'"),
        ({"judges.x": LLM | {"base_url": f"http://me:{KEY}@there/v1"}}, "judges.x: base_url .*password"),
        # Benchmarks.
        ({"benchmarks.gsm8k.reference": ["answer"]}, "reference: 'answer' .*{column}"),
        (
            {"benchmarks.x": {"path": "a.jsonl", "revision": "b", "question": ["{q}"], "reference": ["{a}"]}},
            "benchmarks.x: 'revision' needs 'dataset'",
        ),
        ({"benchmarks.gsm8k.judge": "leters"}, "benchmarks.gsm8k.judge: 'leters'; known: grok, math-verify, "),
        ({"benchmarks.gsm8k.reference_is": "letter"}, "benchmarks.gsm8k: 'reference_is' .*'options'"),
        ({"benchmarks.gsm8k.options": ["{choices}"]}, "'{choices}' must be a column"),
        (
            {"benchmarks.gsm8k.options": "choices", "benchmarks.gsm8k.reference_is": "position"},
            "benchmarks.gsm8k.reference_is: ",
        ),
        (tolerance(relative=0.05, significant_digits=3), "needs exactly one of 'relative'"),
        (tolerance(), "needs exactly one of 'relative'"),
        (tolerance(relative=5), "tolerance.relative"),
        (tolerance(significant_digits="three"), "tolerance.significant_digits"),
        (tolerance(absolute=0.1), "'absolute'; known keys: relative, significant_digits"),
        # What is run and shown, and what moved.
        ({"study": "ab" * 20}, "study: must not end with 20"),
        ({"run.groups": [], "run.sizes": []}, r"run: .*run.analyses needs \(accuracy\)"),
        ({"run.benchmarks": ["math", "gpqa"], "run.sizes": [{"size": 2}]}, "run.sizes: 2 left out .*2 benchmarks"),
        ({"run.sizes": [{"size": 2}, {"size": 2}]}, "run.sizes: size 2 occurs twice"),
        ({"run.analyses": ["monitor"]}, "run.analyses: 'monitor'; known: accuracy, agreement, "),
        ({"analyses.monitor": {}}, "config.yaml: analyses: .*'monitor'; known keys: accuracy, agreement, "),
        (
            {"analyses.accuracy.figure_model": "gpt"},
            "analyses.accuracy.figure_model: 'gpt'; known: phi-3.5-mini, ",
        ),
        (
            {"analyses.accuracy.tables": ["2"]},
            "analyses.accuracy: unknown table '2'; known: validation, methods",
        ),
        ({"presentation": {"label": "a"}}, "config.yaml: 'presentation' .*analyses.accuracy"),
        ({"run.tables": [1]}, "config.yaml: run: 'tables' .*analyses.accuracy.tables, .*2_"),
    ],
)
def test_a_refusal_names_the_place_and_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    result = refusal(changes)
    assert re.search(message, result), result
    assert KEY not in result


@pytest.mark.parametrize(
    ("files", "path", "named"),
    [
        ([], "{folder}/Q4.GGUF", "{folder}/Q4.GGUF"),  # also where it is not there
        (["q4.gguf"], "{folder}/q4.gguf", "{folder}/q4.gguf"),
        (["b.gguf", "a.gguf"], "{folder}", "a.gguf"),
        # As repositories of the hub have it: vLLM would find no weights beside the config.
        (["q4.gguf", "config.json"], "{folder}", "q4.gguf"),
    ],
)
def test_a_gguf_file_as_weights_is_reported_with_what_to_do(
    tmp_path: Path, files: list[str], path: str, named: str
) -> None:
    for name in files:
        (tmp_path / name).write_text("")
    message = refusal({"models.qwen3-8b": {"path": path.format(folder=tmp_path)}})
    remedy = "GGUF file.*llama.cpp .*'api' .*docs/inputs.md"
    assert re.search("models.qwen3-8b.path: .*safetensors.*" + remedy, message)
    assert f"'{named.format(folder=tmp_path)}'" in message
    as_id = refusal({"models.qwen3-8b": {"id": "q4.gguf"}})
    assert re.search("models.qwen3-8b.id: .*owner/name.*'path'.*'q4.gguf' is a " + remedy, as_id)
