"""Formulas in texts, as the elements that a page makes of them."""

import pytest

from entropy_sentinel.rendering.mathml import split_formulas


def test_a_fraction() -> None:
    before, formula, after = split_formulas(r"so \(\frac{1}{2}\) is it")
    assert (before, after, formula["source"]) == ("so ", " is it", r"\(\frac{1}{2}\)")
    name, attributes, _, [row] = formula["math"]
    assert (name, attributes) == ("math", {"display": "inline"})
    [fraction] = row[3]
    assert fraction[0] == "mfrac"
    assert [number[3][0][:3] for number in fraction[3]] == [["mn", {}, "1"], ["mn", {}, "2"]]


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("it costs $5 and $6", []),
        (r"\$5 and x$", []),
        ("$x$ and $$y$$ and \\[z\\]", ["$x$", "$$y$$", "\\[z\\]"]),
        (r"\(\frac{\)", []),  # no formula: it stays text
        ("$" + "x" * 3000 + "$", []),
        (r"$\left(" * 400 + "$", []),
    ],
)
def test_formulas_are_recognised(text: str, formulas: list[str]) -> None:
    pieces = split_formulas(text)
    assert [piece["source"] for piece in pieces if isinstance(piece, dict)] == formulas
    assert "".join(piece if isinstance(piece, str) else piece["source"] for piece in pieces) == text


def test_only_names_known_attributes_and_text_remain() -> None:
    [formula] = split_formulas(r"$\href{javascript:a}{x} \text{<b>1</b>}$")
    assert "href" not in str(formula["math"])
    assert "'<b>1</b>'" in str(formula["math"])
