"""Makes the logs of test_inspect.py by inspect_ai 0.3.250: `python tests/logs/inspect_numbers.py FOLDER`.

Three samples in three epochs, of which the last fails, scored in two ways; in both forms. It needs an environment of
its own: inspect_ai does not go with the packages of envs/.
"""

import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import exact, includes
from inspect_ai.solver import Generate, TaskState, solver

# Of each step the log-probabilities of the most likely tokens, the sampled one first.
STEPS = [[-0.1, -2.5], [-0.7, -0.8]]
# The samples with what the model answers, which is nothing where the sample fails, and the target.
SAMPLES = [("one", "1", "1"), ("two", "12", "2"), ("three", None, "3")]


def output(text: str) -> ModelOutput:
    content = [
        {"token": "t", "logprob": step[0], "top_logprobs": [{"token": "t", "logprob": value} for value in step]}
        for step in STEPS
    ]
    choice = {
        "message": {"role": "assistant", "content": text},
        "stop_reason": "stop",
        "logprobs": {"content": content},
    }
    # Without a usage, it looks for a tokenizer on the network.
    return ModelOutput(model="m", choices=[choice], usage=ModelUsage(input_tokens=7, output_tokens=2, total_tokens=9))


@solver
def answered() -> Any:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.sample_id == "three":
            raise RuntimeError("no such tool")
        return await generate(state)

    return solve


def main(folder: Path) -> None:
    samples = [
        Sample(id=name, input=f"Which number is {name}?", target=target, metadata={"level": name[0]})
        for name, _, target in SAMPLES
    ]
    task = Task(name="numbers", dataset=samples, solver=answered(), scorer=[exact(), includes()], epochs=3)
    # The mock model gives its outputs in the order of the requests, one at a time.
    outputs = [output(text) for _ in range(3) for _, text, _ in SAMPLES if text is not None]
    model = get_model("mockllm/model", custom_outputs=outputs)
    one_at_a_time = {"max_connections": 1, "max_samples": 1}
    (log,) = eval(task, model, log_dir=str(folder), display="none", fail_on_error=False, seed=5, **one_at_a_time)
    log = read_eval_log(log.location)
    Path(log.location).unlink()
    for sample in log.samples:  # events and tracebacks are most of it
        sample.events, sample.attachments = [], {}
        if sample.error:
            sample.error.traceback = sample.error.traceback_ansi = ""
    for form in ("eval", "json"):
        write_eval_log(log, str(folder / f"numbers.{form}"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
