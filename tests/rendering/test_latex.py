"""Tables in the form of a paper, as LaTeX."""

import re

import pytest

from entropy_sentinel.rendering.latex import (
    NONE,
    RHO,
    Block,
    Latex,
    PaperTable,
    Wrapped,
    escape_latex,
    format_share,
    format_spread,
    format_table,
    join_latex,
    lay_side_by_side,
    lower_qualifier,
    write_symbols,
)


def test_shares_have_a_zero_before_the_point_and_medians_with_their_range_have_none():
    assert [format_share(value) for value in (0.034, 1.0, -0.004, -0.25, None)] == [
        *("$0.03$", "$1.00$", "$0.00$", "$-0.25$"),
        NONE,
    ]
    spreads = [(0.954, 0.05), (1.0, 0.0), (-0.12, 0.5), (0.3, None), (None, None)]
    assert [format_spread(*pair) for pair in spreads] == [
        *("$.95_{.05}$", "$1.00_{.00}$", "$-.12_{.50}$", "$.30$"),
        NONE,
    ]


def test_text_is_escaped_and_latex_is_not():
    assert escape_latex("a_b & 5% {x}~\\") == r"a\_b \& 5\% \{x\}\textasciitilde{}\textbackslash{}"
    assert escape_latex(Latex(r"$\rho$_")) == r"$\rho$_"
    assert join_latex("a_b", RHO) == r"a\_b $\rho$"
    assert write_symbols("AEE 0.1, rho 0.9 on rhombus_1") == r"AEE 0.1, $\rho$ 0.9 on rhombus\_1"
    assert [lower_qualifier(title) for title in ("NLL sum", "LNTP", "Std dev", "a_b")] == [
        r"NLL\textsubscript{sum}",
        "LNTP",
        "Std dev",
        r"a\_b",
    ]


def test_blocks_side_by_side_fill_the_lanes_from_the_top():
    blocks = [Block([[name, "1"], [name, "2"]][:rows], name) for name, rows in (("a", 2), ("b", 1), ("c", 2))]
    table = lay_side_by_side(PaperTable("C.", ["l", "r"], ["S", "x"], blocks), 2)
    assert [list(map(list, block.rows)) for block in table.blocks] == [
        [["a", "1", "c", "1"], ["a", "2", "c", "2"]],
        [["b", "1", "", ""]],
    ]
    assert table.headings == ["S", "x", "S", "x"]
    assert table.blocks[0].heading == r"\multicolumn{2}{c}{a} & \multicolumn{2}{c}{c}"
    assert len(table.columns) == 4


def test_a_table_without_rows_is_a_comment():
    for tables in ([], [PaperTable("C.", ["l"], ["M"], [Block([])])]):
        assert re.fullmatch(r"% The table 7_x is left out, .* tables/table_7_x.md .*\n", format_table(tables, "7_x"))


@pytest.mark.parametrize(("n_rows", "n_floats"), [(56, 1), (57, 2), (150, 3)])
def test_a_long_table_is_continued_in_further_floats_with_all_rows_and_different_labels(n_rows: int, n_floats: int):
    rows = [[f"model {number}", "$.1$"] for number in range(n_rows)]
    text = format_table([PaperTable("C.", ["l", "r"], ["M", "x"], [Block(rows)])], "2_x")
    assert text.count(r"\begin{table}") == text.count(r"\toprule") == n_floats
    assert text.count("model ") == n_rows
    assert text.count(r"\label{tab:2_x}") == 1
    assert text.count("(continued)") == n_floats - 1


def test_a_table_takes_two_columns_only_if_it_is_wider_than_one():
    def environment(columns: int, *, wrapped: bool = False) -> str:
        sides = [Wrapped(1.5) if wrapped else "l", *"r" * columns]
        rows = [["a name that would be wider than a column if it had no break" * wrapped, *["$0.99$"] * columns]]
        text = format_table([PaperTable("C.", sides, [""] * (columns + 1), [Block(rows)])], "2_x")
        return text.splitlines()[1]

    assert environment(4) == r"\begin{table}[tp]"
    assert environment(12) == r"\begin{table*}[tp]"
    assert environment(2, wrapped=True) == r"\begin{table}[tp]"
