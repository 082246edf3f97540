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


# By WCAG's formula, on white: #777 has 4.48, #767676 4.54, #949494 3.03, #999 2.85, #aaa 2.32; #666 has 5.74, and 2.99
# on #bbb; #444 on half black over white, #777, has 2.17; black at half opacity has 3.98.
@needs_browser
@pytest.mark.parametrize(
    ("body", "faults"),
    [
        ('<p class="ok">a</p><p style="font-size:24px;color:#949494">b</p>', []),
        ('<p class="grey">a</p>', ["p.grey 'a': 4.48 of 4.5"] * 4),
        ('<p style="font-size:18px;color:#949494">b</p>', ["p. 'b': 3.03 of 4.5"] * 4),
        ('<div class="over"><p>c</p></div>', ["p. 'c': 1.00 of 4.5"] * 4),
        ('<div class="half"><p>d</p></div>', ["p. 'd': 2.17 of 4.5"] * 4),
        ('<div class="shade">e</div>', ["div.shade 'e': 2.99 of 4.5"] * 4),
        ('<p style="opacity:.5">f</p>', ["p. 'f': 3.98 of 4.5"] * 4),
        ('<p class="mark"></p>', ["p.mark 'mark': 2.32 of 4.5"] * 4),
        ('<p class="dark">g</p>', ["p.dark 'g': 2.85 of 4.5"] * 2),
        ('<details><p class="grey">h</p></details>', ["p.grey 'h': 4.48 of 4.5"] * 4),
        ('<p class="grey" hidden>i</p><p class="grey" style="visibility:hidden">j</p>', []),
        ('<svg><text y="20" fill="#777">k</text><circle r="5" fill="#949494"/></svg>', ["text. 'k': 4.48 of 4.5"] * 4),
        ('<svg><circle r="5" fill="#999"/></svg>', ["circle of a picture: 2.85 of 3"] * 4),
        ('<p style="width:780px">l</p>', ["780 pixels wide"] * 2),
        (
            '<div class="scroll" style="overflow:auto"><p class="cards" style="width:500px">m</p></div>',
            ["1 tables"] * 2,
        ),
        ("<script>console.error('n', 1)</script>", ["console: n 1"]),
        ("<script>missing()</script>", ["console: ReferenceError: missing"]),
        ('<img src="none.png" alt="">', ["console: Failed to load resource"]),
    ],
)
def test_a_fault_is_found(tmp_path: Path, body: str, faults: list[str]) -> None:
    path = tmp_path / "page.html"
    path.write_text(PAGE % body)
    lines = inspect_page(path)
    assert [fault in line for fault, line in zip(faults, lines, strict=True)] == [True] * len(faults)
