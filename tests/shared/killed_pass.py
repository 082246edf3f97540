"""Run by test_killed_passes.py in a process of its own: a pass by an engine without a model, killed on the way.

    python killed_pass.py FAMILY FOLDER OUTPUT [PARTS]

The process kills itself with SIGKILL once it has written PARTS parts; without, it comes to its end.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from asked_items import pass_settings, write_items
from fake_engine import FakeEngine

from entropy_sentinel.study.stages import engine_pass
from entropy_sentinel.study.stages.job_parts import Parts

SECTIONS: dict[str, dict[str, Any]] = {
    "forced_answer": {"answers": ["own", "reference"], "positions": "all", "samples": None, "options": False},
    "beam_search": {"width": 3},
    "iterative_prompting": {"samples": 4, "prompt": "{question} {answer}"},
}
# Of an item: short, so that several make a part, and one answer that is there twice.
ANSWERS = ["so \\boxed{1}", "so \\boxed{2}", "so \\boxed{1}", "or \\boxed{3}", "\\boxed{4} or so"]


def kill_after(n_parts: int) -> None:
    """Kill this process as soon as it has written so many parts."""
    append, written = Parts.append, list[int]()

    def killing(self: Parts, *arguments: Any) -> None:
        append(self, *arguments)
        written.append(1)
        if len(written) == n_parts:
            os.kill(os.getpid(), signal.SIGKILL)

    Parts.append = killing  # type: ignore[method-assign]  # this process is for this alone


def main(family: str, folder: Path, output: Path, *parts: str) -> None:
    engine_pass.make_engine = lambda *_: FakeEngine(prompt=None)  # type: ignore[assignment, return-value]
    engine_pass.PART_TOKENS = 130
    for n_parts in parts:
        kill_after(int(n_parts))
    output.parent.mkdir(parents=True, exist_ok=True)
    items = write_items(folder, {f"q{number:02d}?": [f"{number} {one}" for one in ANSWERS] for number in range(12)})
    engine_pass.write_engine_pass(*items, pass_settings(family, SECTIONS[family]), 1, str(output))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), *sys.argv[4:])
