r"""The pass `forced_answer` by vLLM against a slow path of its own: Transformers, float32, the whole vocabulary.

The contexts are put together here from texts by hand: the demo's tokenizer has `\`, `boxed`, `{` and single digits.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
N = 50
MODEL = ROOT / "demo" / "models" / "tiny-1m"
ENTROPIES = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, prompts, wanted = json.load(open(sys.argv[1]))
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
tokenizer = AutoTokenizer.from_pretrained(folder)
found = []
for prompt, response, forced, length in wanted:
    chat = [{"role": "user", "content": prompts[prompt]}]
    prompt = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=False)
    box = tokenizer.convert_tokens_to_ids(["\\\\", "boxed", "{", *forced])
    contexts = [prompt + response[:t] + box for t in range(1, length)]
    longest = max(map(len, contexts))
    padded = torch.tensor([one + [0] * (longest - len(one)) for one in contexts])
    with torch.no_grad():
        logits = model(padded).logits  # what follows a context's end is masked by causality
    last = logits[torch.arange(len(contexts)), torch.tensor([len(one) - 1 for one in contexts])].double()
    log_p = torch.log_softmax(last, -1)
    found.append((-(log_p.exp() * log_p).sum(-1) / torch.log(torch.tensor(2.0).double())).tolist())
json.dump([found, model.config.vocab_size], open(sys.argv[2], "w"))
"""
pytestmark = pytest.mark.long(minutes=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm", reason="vLLM is not installed", exc_type=ImportError)
    folder = tmp_path_factory.mktemp("pass")
    command = [sys.executable, str(ROOT / "tests" / "shared" / "pass_probe.py"), str(folder), "forced_answer", str(N)]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "workflow")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def rows(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "study" / "passes" / "forced_answer" / "tiny-1m" / "whole.parquet")


def test_entropies_and_areas_are_those_of_the_whole_vocabulary_within_the_bound(
    folder: Path, rows: pl.DataFrame
) -> None:
    items = pl.read_parquet(folder / "items.parquet").select("item_id", "question")
    traces = pl.read_parquet(folder / "study" / "generations" / "tiny-1m" / "a.parquet")
    asked = rows.filter(pl.col("reason").is_null())
    responses = dict(traces.select("item_id", "token_ids").iter_rows())
    start = "Solve the following problem step by step, then provide the final numerical answer.\n\nQuestion: "
    prompts = {name: f"{start}{question}\n\nSolution:" for name, question in items.iter_rows()}
    wanted = []
    for row in asked.iter_rows(named=True):
        # L tokens of digits, of which the last is left out; nothing for `none`.
        forced = list(row["answer_text"] or "")[:-1]
        assert row["answer_tokens"] == len(row["answer_text"] or "")
        wanted.append([row["item_id"], responses[row["item_id"]], forced, row["tokens_to_answer"]])
    (folder / "in.json").write_text(json.dumps([str(MODEL), prompts, wanted]))
    command = [sys.executable, "-c", ENTROPIES, str(folder / "in.json"), str(folder / "out.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    full, vocabulary = json.loads((folder / "out.json").read_text())
    assert json.loads((folder / "told.json").read_text())["vocabulary"] == vocabulary
    assert asked["item_id"].n_unique() == N
    rounding = 2e-3  # bits, of the float32 of two engines
    largest = 0.0
    for row, exact in zip(asked.iter_rows(named=True), full, strict=True):
        assert row["positions"] == list(range(1, row["tokens_to_answer"]))
        lacking = np.array(exact) - np.array(row["entropies"])
        assert (lacking > -rounding).all()
        assert (lacking < np.array(row["bounds"]) + rounding).all()
        assert -rounding * len(exact) < sum(exact) - row["eas"] < row["eas_bound"] + rounding * len(exact)
        assert row["mean_eas"] == pytest.approx(row["eas"] / len(exact))
        largest = max(largest, *row["missing_masses"])
    assert largest > 1e-3, "the mass outside the 20 is real here"
