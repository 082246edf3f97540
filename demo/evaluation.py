"""Some of the demo's domains as tasks of inspect_ai: `inspect eval demo/evaluation.py@averages`."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import FieldSpec, json_dataset
from inspect_ai.scorer import includes, pattern
from inspect_ai.solver import generate, prompt_template

BENCHMARKS = Path(__file__).parent / "benchmarks"
# What the demo's models were trained on: `solve-step-by-step` of the pipeline.
PROMPT = """Solve the following problem step by step, then provide the final numerical answer.

Question: {prompt}

Solution:"""


def problems(domain: str) -> Task:
    """A domain with two scorers: `pattern` compares the answer in the box, `includes` looks for it anywhere."""
    dataset = json_dataset(
        str(BENCHMARKS / f"{domain}.jsonl"), FieldSpec(id="id", input="question", target="answer"), name=domain
    )
    solver, scorer = [prompt_template(PROMPT), generate()], [pattern(r"\\boxed\{(.+?)\}"), includes()]
    return Task(name=domain, dataset=dataset, solver=solver, scorer=scorer)


@task
def averages() -> Task:
    return problems("averages")


@task
def percentages() -> Task:
    return problems("percentages")


@task
def remainders() -> Task:
    return problems("remainders")


@task
def running_total() -> Task:
    return problems("running-total")


@task
def shopping_change() -> Task:
    return problems("shopping-change")


@task
def mixed() -> Task:
    return problems("mixed")
