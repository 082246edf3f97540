"""Pages in a real browser: what a script finds on one, as a value."""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from programs import skip_without

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = skip_without(BROWSER, "Chromium", "apt-get install chromium")

_FRAME = """<!DOCTYPE html><body><script>
addEventListener("message", (event) => {
  document.body.innerHTML = "<pre id='result'></pre>";
  document.getElementById("result").textContent = btoa(unescape(encodeURIComponent(JSON.stringify(event.data))));
});
</script><iframe src="%s" style="width:%dpx;height:900px;border:0"></iframe></body>"""
_SCRIPT = '<script>addEventListener("load", () => { %s; parent.postMessage(found, "*"); });</script>'


def found_on(page: Path, script: str, width: int = 1280) -> Any:
    """What `script`, which says `const found = ...`, finds on a page that is `width` pixels wide."""
    played, around = page.with_name("played.html"), page.with_name("around.html")
    text = page.read_text()
    assert "</body>" in text
    played.write_text(text.replace("</body>", f"{_SCRIPT % script}</body>"))
    around.write_text(_FRAME % (played.as_uri(), width))
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={page.parent / 'browser'}", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run([*command, around.as_uri()], capture_output=True, text=True, timeout=90)
    result = re.search(r'<pre id="result">([^<]*)</pre>', done.stdout)
    assert result, done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(base64.b64decode(result[1]))
