"""Tables as files: CSV, Markdown, LaTeX, HTML."""

import re
from pathlib import Path

import polars as pl

from entropy_sentinel.formatting.text_format import format_number
from entropy_sentinel.rendering.html_pages import Exhibit
from entropy_sentinel.rendering.table_exhibit import Table, missing_notes, number_frame, write_table

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


def test_latex_shows_every_character_unchanged(tmp_path):
    frame = pl.DataFrame({r"a\b^c": ["x~y & {z}"]})
    latex = written(Table(r"costs $5_$, 3^2, C:\tmp ~ 1 #", frame, (r"\LaTeX",)), tmp_path)["tex"]
    assert r"a\textbackslash b\textasciicircum c" in latex
    assert r"x\textasciitilde y \& \{z\} \\" in latex
    assert r"Errors. costs \$5\_\$, 3\textasciicircum{}2, C:\textbackslash{}tmp \textasciitilde{} 1 \#" in latex
    assert r"\textbackslash{}LaTeX" in latex


def test_a_long_latex_table_is_broken_over_pages(tmp_path):
    latex = written(Table("Long.", pl.DataFrame({"AEE": [0.1] * 41}), ("Note.",)), tmp_path)["tex"]
    assert "\\begin{longtable}" in latex
    assert "Note." in latex


def test_html_is_escaped(tmp_path):
    html = written(Table("<script>", pl.DataFrame({"<b>": ["<i>"]}), ("a & b",)), tmp_path)["html"]
    assert "<script>" not in html
    assert "<i>" not in html
    assert "a &amp; b" in html


def test_a_table_without_rows_becomes_a_sentence_on_the_page(tmp_path):
    files = written(Table("Nothing.", pl.DataFrame(schema={"AEE": pl.Float64}), ("Why.",)), tmp_path)
    assert files["csv"] == "AEE\n"
    assert "<b>Table 2: Errors</b> is left out: it has no rows. Why.</p>" in files["html"]
    assert 'id="table_2_by_model"' in files["html"]
    assert not any(part in files["html"] for part in ("<table>", "<h3", "Nothing.", "href"))
    assert all("Why." in files[kind] for kind in ("md", "tex", "html"))


def test_a_page_links_to_the_files_of_a_table(tmp_path):
    beside = Table("Beside.", pl.DataFrame({"AEE": [0.2]}))
    html = written(Table("In.", pl.DataFrame({"AEE": [0.1]}), published=beside), tmp_path)["html"]
    stem = "tables/table_2_by_model"
    assert re.findall(r'href="([^"]*)"', html) == [f"{stem}.csv", f"{stem}.md", f"{stem}.tex", f"{stem}_published.csv"]
    assert (tmp_path / "table_2_by_model_published.csv").read_text() == "AEE\n0.2\n"


def test_a_missing_value_may_have_words_of_its_own() -> None:
    table = Table("In.", pl.DataFrame({"AEE": [0.1, None, None]}), words={(1, "AEE"): "no labels"})
    assert table.cells() == [["0.100"], ["no labels"], ["-"]]


def test_a_value_that_rounds_to_zero_has_no_minus_sign():
    assert [format_number(value, "+.3f") for value in (-0.0004, 0.0004, -0.0006, 0.0)] == [
        "+0.000",
        "+0.000",
        "-0.001",
        "+0.000",
    ]
    assert [format_number(value) for value in (-0.0, -0.0004, -10.0, None)] == ["0.000", "0.000", "-10.000", "-"]


def test_an_exhibit_without_a_number_is_called_by_its_title():
    assert Exhibit("table", "estimates", "Estimated accuracy").heading == "Estimated accuracy"
    assert EXHIBIT.heading == "Table 2: Errors"


def test_a_wide_table_is_transposed_only_on_the_page() -> None:
    names = [f"n{number}" for number in range(15)]
    rows = [
        {"Model": model, "Measure": "AEE"} | dict.fromkeys(names, value) for model, value in (("a", 0.5), ("b", None))
    ]
    table = Table("Wide.", number_frame(rows, ["Model", "Measure"], names))
    headings, cells, numeric = table.page_cells()
    assert headings == ["Number", "a, AEE", "b, AEE"]
    assert cells == [[name, "0.500", "-"] for name in names]
    assert numeric == [False, True, True]
    # As many rows as columns, and a column of words among the numbers, stay as they are.
    for other in (
        number_frame(rows * 8, ["Model", "Measure"], names),
        table.frame.with_columns(pl.lit("x").alias("last")),
    ):
        as_it_is = Table("As it is.", other)
        assert as_it_is.page_cells() == (other.columns, as_it_is.cells(), as_it_is.numeric())


def test_values_missing_for_the_same_reason_share_a_note() -> None:
    missing = [("SAR", "no tokens", f"m{number}") for number in range(16)] + [("SAR", "no tokens", "m0")]
    assert missing_notes([*missing, ("IP", "no tokens", "m0"), ("IP", "refused", "m1")]) == [
        "No SAR (no tokens): m0; m1; m2; m3; m4; m5; and 10 more.",
        "No IP (no tokens): m0.",
        "No IP (refused): m1.",
    ]
    assert missing_notes(missing[:7])[0].endswith("m5; m6.")  # the one that is left is named, not counted
