"""Tables as files: CSV, Markdown, LaTeX, HTML."""

from pathlib import Path

import polars as pl

from entropy_sentinel.report.exhibits import Exhibit
from entropy_sentinel.report.tables import Table, write_table

EXHIBIT = Exhibit("table", "2_by_model", "Errors")


def written(table: Table, folder: Path) -> dict[str, str]:
    """What `write_table` writes, by suffix."""
    write_table(EXHIBIT, table, folder)
    return {kind: (folder / f"table_2_by_model.{kind}").read_text() for kind in ("csv", "md", "tex", "html")}


def test_csv_keeps_full_precision_and_the_others_are_rounded(tmp_path):
    frame = pl.DataFrame({"Model": ["a_b", "c"], "AEE": [0.123456789012345, None]})
    files = written(Table("In 100 %.", frame, ("A note_1.",)), tmp_path)
    assert files["csv"] == "Model,AEE\na_b,0.123456789012345\nc,\n"
    assert "| a_b     | 0.123 |" in files["md"]
    assert files["md"].startswith("**Table 2: Errors.** In 100 %.")
    assert files["md"].endswith("- A note_1.\n")
    assert "a\\_b & 0.123 \\\\" in files["tex"]
    assert "\\caption{Errors. In 100 \\%.}" in files["tex"]
    assert files["tex"].index("A note\\_1.") < files["tex"].index("\\end{table}")
    assert '<td class="name">a_b</td><td class="n">0.123</td>' in files["html"]


def test_latex_shows_every_character_as_it_is(tmp_path):
    frame = pl.DataFrame({r"a\b^c": ["x~y & {z}"]})
    latex = written(Table(r"costs $5_$, 3^2, C:\tmp ~ 1 #", frame, (r"\LaTeX",)), tmp_path)["tex"]
    assert r"a\textbackslash b\textasciicircum c" in latex
    assert r"x\textasciitilde y \& \{z\} \\" in latex
    assert r"Errors. costs \$5\_\$, 3\textasciicircum 2, C:\textbackslash tmp \textasciitilde \space 1 \#" in latex
    assert r"\textbackslash LaTeX" in latex


def test_a_long_latex_table_is_broken_over_pages(tmp_path):
    latex = written(Table("Long.", pl.DataFrame({"AEE": [0.1] * 41}), ("Note.",)), tmp_path)["tex"]
    assert "\\begin{longtable}" in latex
    assert "Note." in latex


def test_html_is_escaped(tmp_path):
    html = written(Table("<script>", pl.DataFrame({"<b>": ["<i>"]}), ("a & b",)), tmp_path)["html"]
    assert "<script>" not in html
    assert "<i>" not in html
    assert "a &amp; b" in html


def test_a_table_without_rows_is_its_caption_and_notes(tmp_path):
    files = written(Table("Nothing.", pl.DataFrame(schema={"AEE": pl.Float64}), ("Why.",)), tmp_path)
    assert files["csv"] == "AEE\n"
    assert "<table>" not in files["html"]
    assert all("Why." in files[kind] for kind in ("md", "tex", "html"))


def test_an_exhibit_without_a_number_is_called_by_its_title():
    assert Exhibit("table", "estimates", "Estimated accuracy").heading == "Estimated accuracy"
    assert EXHIBIT.heading == "Table 2: Errors"
