"""The site's search on pages opened from the disk: the theme's own worker, in a frame in place of a worker."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from browser import found_on, needs_browser
from programs import skip_without

ROOT = Path(__file__).parents[2]
SHIM = ROOT / "docs" / "search-from-disk.js"
material = pytest.importorskip("material", reason="mkdocs-material is not installed (make docs)")
(WORKER,) = Path(material.__file__).parent.glob("templates/assets/javascripts/workers/search.*.min.js")
INDEX = {
    "config": {
        "lang": ["en"],
        "separator": "[\\s\\-]+",
        "pipeline": ["stopWordFilter"],
        "fields": {"title": {"boost": 1000.0}, "text": {"boost": 1.0}, "tags": {"boost": 1000000.0}},
    },
    "docs": [
        {"location": "alarms.html", "title": "Alarms", "text": "<p>What a drop means</p>"},
        {"location": "judges.html", "title": "Judges", "text": "<p>A label from a file</p>"},
    ],
}
# What the theme does: it starts the worker, sends the index at once, and later a query.
ASKS = """
const worker = new Worker(%s);
worker.addEventListener("message", ({ data }) => {
  if (data.type === 1) worker.postMessage({ type: 2, data: "label" });
  if (data.type === 3) told(data.data.items.map((pages) => pages[0].location));
});
worker.postMessage({ type: 0, data: { ...%s, options: { suggest: false } } });
"""
# As much of a browser as the script uses: each frame is a context of its own, whose scripts run once they are added.
BROWSER = """
const vm = require("node:vm"), fs = require("node:fs");
const frame = () => {
  const target = new EventTarget();
  const inner = { console, URL, addEventListener: target.addEventListener.bind(target) };
  inner.dispatchEvent = target.dispatchEvent.bind(target);
  inner.self = vm.createContext(inner);
  const run = (script) => {
    vm.runInContext(fs.readFileSync(new URL(script.src), "utf-8"), inner);
    script.onload();
  };
  const body = { append: (script) => setTimeout(run, 0, script) };
  const contentDocument = { open() {}, write() {}, close() {}, createElement: () => ({}), body };
  return { contentWindow: inner, contentDocument, remove() {} };
};
const document = { createElement: frame, body: { append() {} } };
const page = { console, document, EventTarget, MessageEvent, URL, location: new URL("file:///site/page.html") };
page.told = (found) => console.log(JSON.stringify(found));
page.window = vm.createContext(page);
for (const text of JSON.parse(fs.readFileSync(0))) vm.runInContext(text, page);
"""


def script_of(worker: str) -> str:
    return ASKS % (json.dumps(worker), json.dumps(INDEX))


@skip_without(shutil.which("node"), "Node.js", "apt-get install nodejs")
def test_the_themes_search_finds_a_page() -> None:
    scripts = json.dumps([SHIM.read_text(), script_of(str(WORKER))])
    done = subprocess.run(["node", "-e", BROWSER], input=scripts, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["judges.html"]


@needs_browser
def test_a_browser_finds_a_page(tmp_path: Path) -> None:
    shutil.copy(SHIM, tmp_path)
    shutil.copy(WORKER, tmp_path / "worker.js")
    page = tmp_path / "page.html"
    asks = f"let told; const answer = new Promise((resolve) => {{ told = resolve; }}); {script_of('worker.js')}"
    page.write_text(
        f'<!DOCTYPE html><head><script src="{SHIM.name}"></script></head><body><script>{asks}</script></body>'
    )
    assert found_on(page, "const found = await answer") == ["judges.html"]


def test_a_page_from_a_server_keeps_the_browsers_worker() -> None:
    text = SHIM.read_text()
    assert text.partition('if (location.protocol === "file:") {\n')[0].count("\n//") == 1
    assert not re.search(r"https?:|//[a-z]|fetch|import", re.sub(r"^ *// .*$|; // .*$", "", text, flags=re.MULTILINE))


def test_the_site_has_the_script_and_the_index_as_a_script(tmp_path: Path) -> None:
    text = (ROOT / "mkdocs.yml").read_text()
    assert yaml.safe_load(text.partition("extra:\n")[2].partition("\n\n")[0])["polyfills"] == [SHIM.name]
    hooks = pytest.importorskip("hooks")
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "search_index.json").write_text(json.dumps(INDEX))
    hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
    written = (tmp_path / "search" / "search_index.js").read_text()
    assert json.loads(written.removeprefix("var __index = ")) == INDEX
