"""Write the tables and figures of `make study-real` as one page for GitHub.

`PYTHONPATH=docs python -m made.gallery results/real/math-verify docs` writes docs/gallery.md and the figures to
docs/gallery/.
"""

import argparse
import re
import shutil
from datetime import date
from pathlib import Path

import polars as pl
from PIL import Image, ImageChops

from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.study.analyses.accuracy.accuracy_exhibits import FIGURES, TABLES
from entropy_sentinel.study.analyses.accuracy.provenance import describe_code_version

# Width of a page on GitHub, in CSS pixels; figures have two image pixels for each.
WIDEST = 880
# The most by which a palette may change a colour, of 255.
MOST_MOVED = 8
INTRODUCTION = """\
# Gallery: the paper's study on real models

Small open models ({models}) answer real questions, at most {responses} from each of {benchmarks}
published benchmarks. [examples/real](../examples/real/README.md) lists the benchmarks, the prompts, and the licences of
models and questions. The models are weak and the questions are few: results may differ for a large model, and each
error below is as much due to chance as to the method. **So first read the study's own verdict:**

```
{summary}
```

The study, [examples/real/study.yaml](../examples/real/study.yaml), trains on all groups of one to four benchmarks and
on all groups that leave out one. It fits all 48 configurations and the further estimators. A table or figure that the
paper also has keeps the paper's number. `make study-real` writes all of them to `results/real/math-verify`, with full
precision and as one page with explanations; it takes minutes and needs no GPU and no network. Each table's first
sentence says what its numbers are, the notes below it what its columns mean. Wide tables scroll sideways.

Generated on {date} by `make study-real gallery`, version {version}.
"""


def main() -> None:
    """Read the two folders from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="folder of the study's results for one judge")
    parser.add_argument("docs", type=Path)
    arguments = parser.parse_args()
    print(write_gallery(arguments.results, arguments.docs))


def write_gallery(results: Path, docs: Path) -> Path:
    """Write the page of all exhibits in `results` to `docs`, replacing earlier figures, and return its path."""
    pictures = docs / "gallery"
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    parts = [_introduction(results), "## Figures"]
    parts += [
        _figure(results / "figures", Exhibit("figure", name, figure.title), pictures)
        for name, figure in FIGURES.items()
    ]
    parts.append("## Tables")
    parts += [_table(results / "tables", Exhibit("table", name, table.title)) for name, table in TABLES.items()]
    page = docs / "gallery.md"
    page.write_text("\n\n".join(part.strip() for part in parts if part) + "\n", encoding="utf-8")
    return page


def _introduction(results: Path) -> str:
    """The introduction, with the study's own summary."""
    domains = pl.read_parquet(results / "domains.parquet", columns=["model", "benchmark", "n_responses"])
    return INTRODUCTION.format(
        responses=domains["n_responses"].max(),
        benchmarks=domains["benchmark"].n_unique(),
        models=", ".join(f"`{one}`" for one in domains["model"].unique(maintain_order=True)),
        summary=(results / "summary.txt").read_text("utf-8").strip(),
        date=date.today().isoformat(),
        version=describe_code_version(),
    )


def _figure(folder: Path, figure: Exhibit, pictures: Path) -> str:
    source = folder / f"{figure.file}.png"
    if not source.is_file():
        return ""
    with Image.open(source) as image:
        whole = image.convert("RGB")
        palette = whole.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        # A palette takes a third of the space, but must not move the colours of a colour bar.
        moved = max(most for _, most in ImageChops.difference(whole, palette.convert("RGB")).getextrema())
        (palette if moved <= MOST_MOVED else whole).save(pictures / source.name, optimize=True)
        width = min(WIDEST, image.width // 2)
    return f'### {figure.heading}\n\n<img src="{pictures.name}/{source.name}" width="{width}" alt="{figure.title}">'


def _table(folder: Path, table: Exhibit) -> str:
    source = folder / f"{table.file}.md"
    if not source.is_file():
        return ""
    text = source.read_text("utf-8").removeprefix(f"**{table.heading}.** ")
    lines = re.sub(" {2,}", " ", text).splitlines()  # cells need no padding
    if sum(line.startswith("|") for line in lines) < 3:  # only a head: the note below the table says why
        lines = [line for line in lines if not line.startswith("|")]
    return "\n".join([f"### {table.heading}", "", *lines])


if __name__ == "__main__":
    main()
