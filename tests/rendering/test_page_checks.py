"""What `page_checks` finds on pages whose faults are known: contrasts by WCAG's formula, a wide page, errors."""

from pathlib import Path

import pytest
from browser import needs_browser
from page_checks import inspect_page

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>body { background: #fff; color: #000; margin: 0; } .grey { color: #777; } .ok { color: #767676; }
.over { background: #000; } .half { background: #0008; color: #444; }
.shade { background: linear-gradient(90deg, #fff, #bbb); color: #666; }
.mark::before { content: "mark"; color: #aaa; } @media (prefers-color-scheme: dark) { .dark { color: #999; } }
</style></head><body>%s</body></html>"""


# Contrasts by WCAG's formula, on white: #777 has 4.48, #767676 4.54, #949494 3.03, #999 2.85, #aaa 2.32; #666 has 5.74,
# and 2.99 on #bbb; #444 on half black over white, #777, has 2.17; black at half opacity has 3.98.
LEGIBLE = """<p class="ok">a</p><p style="font-size:24px;color:#949494">b</p><svg><circle r="5" fill="#949494"/></svg>
<p class="grey" hidden>c</p><p class="grey" style="visibility:hidden">d</p>"""
ILLEGIBLE = {
    '<p class="grey">e</p>': "p.grey 'e': 4.48 of 4.5",
    '<p style="font-size:18px;color:#949494">f</p>': "p. 'f': 3.03 of 4.5",
    '<div class="over"><p>g</p></div>': "p. 'g': 1.00 of 4.5",
    '<div class="half"><p>h</p></div>': "p. 'h': 2.17 of 4.5",
    '<div class="shade">i</div>': "div.shade 'i': 2.99 of 4.5",
    '<p style="opacity:.5">j</p>': "p. 'j': 3.98 of 4.5",
    '<p class="mark"></p>': "p.mark 'mark': 2.32 of 4.5",
    '<details><p class="grey">k</p></details>': "p.grey 'k': 4.48 of 4.5",
    '<svg><text y="20" fill="#777">l</text></svg>': "text. 'l': 4.48 of 4.5",
    '<svg><circle r="5" fill="#999"/></svg>': "circle of a picture: 2.85 of 3",
}


@needs_browser
def test_texts_and_marks_with_too_little_contrast_are_found(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE % LEGIBLE)
    assert inspect_page(path) == []
    path.write_text(PAGE % "".join([LEGIBLE, *ILLEGIBLE, '<p class="dark">m</p>']))
    views = [f"page.html, {width} pixels, {palette}" for width in (1280, 390) for palette in ("light", "dark")]
    expected = {f"{view}: contrast of {fault}" for view in views for fault in ILLEGIBLE.values()}
    expected |= {f"{view}: contrast of p.dark 'm': 2.85 of 4.5" for view in views if "dark" in view}
    assert {*inspect_page(path)} == expected


@needs_browser
@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ('<p style="width:780px">l</p>', ["780 pixels wide"] * 2),
        (
            '<div class="scroll" style="overflow:auto"><p class="cards" style="width:500px">m</p></div>',
            ["1 tables"] * 2,
        ),
        (
            '<img src="none.png" alt=""><script>console.error("n", 1); missing()</script>',
            ["console: n 1", "console: ReferenceError: missing", "console: Failed to load resource"],
        ),
    ],
)
def test_wide_pages_cut_tables_and_errors_are_found(tmp_path: Path, body: str, faults: list[str]) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE % body)
    lines = sorted(inspect_page(path))
    assert [fault in line for fault, line in zip(sorted(faults), lines, strict=True)] == [True] * len(faults)
