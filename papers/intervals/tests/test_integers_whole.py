"""The pass `integers` by vLLM against a slow path of its own: Transformers, float32, the whole vocabulary.

tiny-fermi writes an integer with a token for each digit and one for the minus sign: so the probability of a spelling is
the product of those of its tokens and of the end token. An integer may have a space before or after it, and 0 a sign.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[3]
N = 12
MODEL = ROOT / "demo" / "models" / "tiny-fermi"
STUDY = Path("study", "passes", "integers", "tiny-fermi-integer")
PROBABILITIES = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, prompts, values = json.load(open(sys.argv[1]))
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder)
spaced = [spelling for value in values for spelling in (f"{value}", f" {value}", f"{value} ", f" {value} ")]
answers = tokenizer([spelling + tokenizer.eos_token for spelling in [*spaced, "-0"]])["input_ids"]
longest = max(map(len, answers))
padded = torch.tensor([one + [0] * (longest - len(one)) for one in answers])
asked = torch.tensor([[place < len(one) for place in range(longest)] for one in answers])
found = []
for prompt in prompts:
    chat = [{"role": "user", "content": prompt}]
    ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    tokens = torch.cat([torch.tensor([ids] * len(answers)), padded], 1)
    with torch.no_grad():
        logits = model(tokens).logits[:, len(ids) - 1 : -1].double()
    log_p = torch.log_softmax(logits, -1).gather(2, padded[:, :, None])[:, :, 0]
    p = (log_p * asked).sum(1).exp()
    by_value = p[:-1].reshape(len(values), -1).sum(1)
    by_value[values.index(0)] += p[-1]
    found.append(by_value.tolist())
json.dump(found, open(sys.argv[2], "w"))
"""
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    folder = tmp_path_factory.mktemp("pass")
    command = [sys.executable, str(ROOT / "tests" / "shared" / "pass_probe.py"), str(folder), "integers", str(N)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_probabilities_are_those_of_the_whole_vocabulary(folder: Path) -> None:
    rows = pl.read_parquet(folder / STUDY / "whole.parquet").filter(sample=0)
    questions = pl.read_parquet(folder / "items.parquet")["question"]
    prompts = [f"Question: {question}\nAnswer 10^x: x alone, an integer." for question in questions]
    values = list(range(-99, 100))
    (folder / "in.json").write_text(json.dumps([str(MODEL), prompts, values]))
    command = [sys.executable, "-c", PROBABILITIES, str(folder / "in.json"), str(folder / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert rows["reason"].null_count() == N
    rounding = 1e-4  # of the float32 of two engines, and spellings that were too unlikely to be followed
    for row, exact in zip(rows.iter_rows(named=True), json.loads((folder / "out.json").read_text()), strict=True):
        by_value = dict(zip(values, exact, strict=True))
        result = np.exp(row["logprobs"])
        np.testing.assert_allclose(result, [by_value[value] for value in row["values"]], atol=rounding)
        assert result.sum() + row["missing"] == pytest.approx(1, abs=1e-9)
        # What is missing is what is no integer, and the integers that were too unlikely to be followed.
        unfollowed = [p for value, p in by_value.items() if value not in row["values"]]
        assert row["missing"] == pytest.approx(1 - sum(exact) + sum(unfollowed), abs=rounding * len(row["values"]))
        assert max(unfollowed) < 2e-4
        assert sum(exact) > 0.95, "the model was trained to answer with integers"
    assert min(min(values) for values in rows["values"]) < 0 < 9 < max(max(values) for values in rows["values"])
