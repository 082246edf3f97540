"""Put the tables and figures of `make study-demo` together as a page that GitHub shows.

    python demo/gallery.py results/demo-full/math-verify docs

writes docs/gallery.md and the figures to docs/gallery/.
"""

import argparse
import re
import shutil
from datetime import date
from pathlib import Path

from PIL import Image

from entropy_sentinel.analyses.accuracy.catalogue import FIGURES, TABLES
from entropy_sentinel.report.commit import code_version
from entropy_sentinel.report.exhibits import Exhibit

# As wide as GitHub shows a page, in its pixels; figures have two for each.
WIDEST = 880
INTRODUCTION = """\
# Gallery: the paper's study on the demo

**These are results of a demo, not of real models:** two tiny language models of 1.3 and 3.2 million parameters, trained
for it, on ten domains of made-up arithmetic with 200 problems each. They show what the pipeline makes of a study, with
all training groups of one to four domains and those of nine, all 48 configurations and what stands beside them. How
often a method wins here says little about other models.

The study is [demo/full.yaml](../demo/full.yaml). Where the paper has a table or figure of the same kind, this one has
its number. With full precision, and as one page with explanations, they are in `results/demo-full/math-verify` after
`make study-demo`.

Made on {date} by `make study-demo gallery`, version {version}.
"""


def main() -> None:
    """Read the two folders from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="what the study made from one judge's labels")
    parser.add_argument("docs", type=Path)
    arguments = parser.parse_args()
    print(write_gallery(arguments.results, arguments.docs))


def write_gallery(results: Path, docs: Path) -> Path:
    """The page in `docs`, of the exhibits that `results` has; the figures of an earlier page go."""
    pictures = docs / "gallery"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    parts = [INTRODUCTION.format(date=date.today().isoformat(), version=code_version()), "## Figures"]
    parts += [_figure(results / "figures", Exhibit("figure", *item), pictures) for item in FIGURES.items()]
    parts.append("## Tables")
    parts += [_table(results / "tables", Exhibit("table", *item)) for item in TABLES.items()]
    page = docs / "gallery.md"
    page.write_text("\n\n".join(part.strip() for part in parts if part) + "\n", encoding="utf-8")
    return page


def _figure(folder: Path, figure: Exhibit, pictures: Path) -> str:
    source = folder / f"{figure.file}.png"
    if not source.is_file():
        return ""
    with Image.open(source) as image:
        # Of few colours: a palette takes a third of the space.
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(pictures / source.name, optimize=True)
        width = min(WIDEST, image.width // 2)
    return f'### {figure.heading}\n\n<img src="{pictures.name}/{source.name}" width="{width}" alt="{figure.title}">'


def _table(folder: Path, table: Exhibit) -> str:
    source = folder / f"{table.file}.md"
    if not source.is_file():
        return ""
    lines = re.sub(" {2,}", " ", source.read_text("utf-8")).splitlines()  # cells need no padding
    if sum(line.startswith("|") for line in lines) < 3:  # a head alone: what stands below says why
        lines = [line for line in lines if not line.startswith("|")]
    return "\n".join([f"### {table.heading}", "", *lines])


if __name__ == "__main__":
    main()
