"""What every page must hold, in a browser, at two widths and in both palettes.

The console is empty, the page never scrolls sideways, and texts have the contrast that WCAG 2.2 asks for at level AA:
4.5 to 1, or 3 to 1 where they are large (24 pixels, or 18.66 if bold). Marks of pictures have 3 to 1.
"""

from pathlib import Path

from browser import shared_browser

WIDTHS = (1280, 390)

# The texts of a page with too little contrast, as lines. A background is one colour or, with a gradient, several: each
# is blended with those behind it, and the worst counts. Folded parts are opened first.
CONTRASTS = r"""(() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  const pixel = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const colors = new Map();
  const parse = (text) => {
    if (!colors.has(text)) {
      pixel.clearRect(0, 0, 1, 1);
      pixel.fillStyle = text;
      pixel.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
      colors.set(text, [red, green, blue, alpha / 255]);
    }
    return colors.get(text);
  };
  const blend = (top, below) => [...[0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3])), 1];
  const luminance = (color) => color.slice(0, 3).map((part) => part / 255)
    .map((part) => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [.2126, .7152, .0722][place], 0);
  const contrast = (first, second) => {
    const [low, high] = [luminance(first), luminance(second)].sort((one, two) => one - two);
    return (high + .05) / (low + .05);
  };
  const layer = (style, below) => {
    const plain = below.map((color) => blend(parse(style.backgroundColor), color));
    const stops = style.backgroundImage.match(/(?:rgba?|color)\([^)]*\)/g) || [];
    return [...plain, ...stops.flatMap((stop) => plain.map((color) => blend(parse(stop), color)))];
  };
  // The colour behind a page without a background, which a page for both palettes leaves to the browser.
  const probe = document.body.appendChild(document.createElement("p"));
  probe.style.backgroundColor = "Canvas";
  const canvas = getComputedStyle(probe).backgroundColor;
  probe.remove();
  const known = new Map();
  const backgrounds = (element) => {
    if (!element) return [parse(canvas)];
    if (!known.has(element)) {
      const all = layer(getComputedStyle(element), backgrounds(element.parentElement));
      known.set(element, [...new Map(all.map((color) => [color.map(Math.round).join(), color])).values()]);
    }
    return known.get(element);
  };
  const opacity = (element) => element ? getComputedStyle(element).opacity * opacity(element.parentElement) : 1;
  const lines = new Set();
  const compare = (what, color, behind, share, least) => {
    const [red, green, blue, alpha] = parse(color);
    const worst = Math.min(...behind.map((below) => contrast(blend([red, green, blue, alpha * share], below), below)));
    if (worst < least) lines.add(`${what}: ${worst.toFixed(2)} of ${least}`);
  };
  const text = (element, style, words, behind) => {
    const size = parseFloat(style.fontSize), isLarge = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    const name = `${element.tagName.toLowerCase()}.${element.getAttribute("class") || ""}`;
    const color = element.closest("svg") ? style.fill : style.color;
    compare(`${name} '${words.trim().slice(0, 40)}'`, color, behind, opacity(element), isLarge ? 3 : 4.5);
  };
  for (const element of document.body.querySelectorAll("*:not(script, style, title)")) {
    if (!element.checkVisibility({visibilityProperty: true}) || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const words = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join("");
    if (words.trim()) text(element, style, words, backgrounds(element));
    for (const side of ["::before", "::after"]) {
      const extra = getComputedStyle(element, side);
      const written = extra.content.match(/^"(.*)"$/s);
      if (written && written[1].trim() && extra.display !== "none") {
        text(element, extra, written[1], layer(extra, backgrounds(element)));
      }
    }
    // Marks are compared with the paper, and not with the grid behind them.
    if (element.matches("circle, .mark i, .mark b")) {
      const color = element.tagName === "circle" ? style.fill : style.backgroundColor;
      compare(`${element.tagName} of a picture`, color, backgrounds(document.body), opacity(element), 3);
    }
  }
  return [...lines];
})()"""
WIDTH = "document.documentElement.scrollWidth"
# Boxes of tables whose rows are cards on a telephone: none may hide a column.
CUT_OFF = """
[...document.querySelectorAll(".scroll:has(.cards)")].filter((one) => one.scrollWidth > one.clientWidth).length"""


def inspect_page(page: Path) -> list[str]:
    """Return what is wrong with a page, as lines; loads it once."""
    lines = []
    with shared_browser().open_page(page) as tab:
        for width in WIDTHS:
            tab.resize(width)
            for is_dark in (False, True):
                tab.set_palette(is_dark)
                where = f"{page.name}, {width} pixels, {'dark' if is_dark else 'light'}"
                lines += [f"{where}: contrast of {line}" for line in tab.evaluate(CONTRASTS)]
                if (wide := tab.evaluate(WIDTH)) > width:
                    lines.append(f"{where}: {wide} pixels wide")
                if n_cut_off := tab.evaluate(CUT_OFF) if width < 500 else 0:
                    lines.append(f"{where}: {n_cut_off} tables are cut off")
        lines += [f"{page.name}: console: {line}" for line in tab.errors]
    return lines
