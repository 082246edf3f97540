"""Files of a made-up study whose items can be selected: benchmarks a and b, five responses of model m to each item."""

from collections.abc import Sequence
from pathlib import Path

from papers.selection.selection_strategies import CandidateFiles

from entropy_sentinel.schemas.benchmark_schema import BENCHMARKS
from entropy_sentinel.schemas.generation_schema import GENERATIONS
from entropy_sentinel.schemas.label_schema import LABELS
from entropy_sentinel.study.signal_families.forced_answer.forced_answer_frames import FORCED_ANSWERS

SAMPLES = 5
# Of each item what the judge says of its five responses (- for no label), tokens of the first response, its area by the
# own answer and by the reference. b-00001 has no reference, b-00002 asks what a-00000 asks, b-00003 has no response.
SAID = {"a": ("cccci", "iiiic", "ciiic", "icccc", "cciii", "c-iic"), "b": ("iciii", "ccccc", "iiiic", "")}
TOKENS = {"a": (10, 20, 30, 50, 40, 60), "b": (55, 5, 5, 0)}
OWN = {"a": (1.5, None, 3.0, 3.0, 0.2, 7.0), "b": (2.0, 1.0, 1.0, 0.0)}
REFERENCE = {"a": (1.0, 2.0, 3.0, 4.0, 9.0, 5.0), "b": (6.0, None, 7.0, 8.0)}
ANSWERS = {"a": ("10", "11", "12", "13", "14", "15"), "b": ("20", None, "22", "23")}
LABEL = {"c": True, "i": False, "-": None}


def write_study_files(
    results: Path, benchmarks: Sequence[str] = ("a", "b"), judge: str = "j", references: bool = True
) -> list[CandidateFiles]:
    """Write items, traces, labels and passes of these benchmarks as a study has them below `results`."""
    return [_write(results, name, judge, references) for name in benchmarks]


def _write(results: Path, name: str, judge: str, references: bool) -> CandidateFiles:
    files = CandidateFiles(
        results / f"benchmarks/{name}.parquet",
        results / f"generations/m/{name}.parquet",
        results / f"labels/{judge}/m/{name}.parquet",
        results / f"passes/forced_answer/m/{name}.parquet",
    )
    responses = [(number, sample) for number, message in enumerate(SAID[name]) for sample in range(len(message))]
    about = {"model": "m", "benchmark": name}
    items = [_item(name, number, references) for number in range(len(SAID[name]))]
    BENCHMARKS.write(BENCHMARKS.frame(items), files.items, {})
    GENERATIONS.write(GENERATIONS.frame([_trace(name, *response) for response in responses]), files.generations, about)
    LABELS.write(LABELS.frame([_label(name, *response) for response in responses]), str(files.labels), about)
    passes = [_pass(name, *response, answer) for response in responses for answer in ("own", "reference")]
    FORCED_ANSWERS.write(FORCED_ANSWERS.frame(passes), str(files.forced_answers), about)
    return files


def _id(name: str, number: int) -> str:
    return f"{name}-{number:05d}"


def _item(name: str, number: int, references: bool) -> dict[str, str | None]:
    question = "a 0?" if (name, number) == ("b", 2) else f"{name} {number}?"
    reference = ANSWERS[name][number] if references else None
    return {
        "item_id": _id(name, number),
        "question": question,
        "reference": reference,
        "duplicate_of": _id(name, number),
    }


def _trace(name: str, number: int, sample: int) -> dict[str, object]:
    step = [[0.0, *[-9999.0] * 19]]
    tokens = TOKENS[name][number] * (1 if sample == 0 else 10)
    row = {"item_id": _id(name, number), "sample": sample, "seed": 1, "run": 0, "prompt_hash": "0", "prompt_tokens": 9}
    row |= {"n_tokens": tokens, "finish_reason": "stop", "text": "4", "trace_start": 0, "token_ids": [7]}
    return row | {"token_logprobs": [0.0], "top_logprobs": step, "displaced_steps": 0}


def _label(name: str, number: int, sample: int) -> tuple[object, ...]:
    message = LABEL[SAID[name][number][sample]]
    return _id(name, number), sample, message, "unreadable" if message is None else None, "4", None, None


def _pass(name: str, number: int, sample: int, answer: str) -> tuple[object, ...]:
    area = (OWN if answer == "own" else REFERENCE)[name][number]
    area = area if sample == 0 or area is None else 100.0
    why = "no final answer" if area is None else None
    return ("m", name, _id(name, number), sample, answer, "4", 1, 2, [1], [area], [0.0], [0.0], None, None) + (
        *(area, area, 0.0 if area is not None else None),
        why,
    )
