"""Update the command output in docs/monitor.md, and the picture of the page that the commands write.

`PYTHONPATH=docs python -m made.walkthrough docs/monitor.md` runs the page's `sh` blocks in order, in a folder with only
the repository's `demo` and `examples`. It writes the output of each into the `text` block below it. With `--picture
docs/monitor.png`, Chromium takes the picture of the page.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A block of commands, optionally followed by a block with its output.
_BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
BROWSER = ("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1200,1400")


def main() -> None:
    """Read the guide from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guide", type=Path)
    parser.add_argument("--picture", type=Path)
    arguments = parser.parse_args()
    text = arguments.guide.read_text("utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for room in ("demo", "examples"):
            (folder / room).symlink_to(ROOT / room)
        printed = [_printed(script, folder) for script, _ in blocks(text)]
        if arguments.picture:
            picture = f"--screenshot={arguments.picture.absolute()}"
            command = [*BROWSER, picture, (folder / "slices.html").as_uri()]
            subprocess.run(command, check=True, capture_output=True)  # hides harmless warnings
    arguments.guide.write_text(filled(text, printed), encoding="utf-8")


def blocks(text: str) -> list[tuple[str, str | None]]:
    """The guide's blocks of commands, each with the output that the guide shows, or None if it shows none."""
    return [(result[1], result[2]) for result in _BLOCK.finditer(text)]


def filled(text: str, printed: Sequence[str]) -> str:
    """The guide with each output that it shows replaced by the next text in `printed`."""
    rest = iter(printed)

    def replaced(result: re.Match[str]) -> str:
        now = next(rest)
        return result[0] if result[2] is None else f"```sh\n{result[1]}```\n\n```text\n{now.strip()}\n```\n"

    return _BLOCK.sub(replaced, text)


def _printed(script: str, folder: Path) -> str:
    paths = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    command = ["bash", "-e", "-c", script]
    done = subprocess.run(command, cwd=folder, env=os.environ | paths, check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    main()
