"""Hooks of MkDocs: generate pages from the package, and add pages from outside docs/."""

import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(DOCS), str(ROOT / "workflow")]

from mkdocs.plugins import event_priority  # noqa: E402
from mkdocs.structure.files import File, Files  # noqa: E402

from made import architecture, catalogues, codes, commands, config_keys, contracts, extensions, prospects, rooms, verbs  # noqa: E402
from made.links import COPIES, ROOT_PAGES, copies, in_site, with_full_size  # noqa: E402

# Generated files of the site: their paths, and the functions that return their content.
MADE = {
    "reference/config.md": config_keys.page,
    "reference/commands.md": commands.page,
    "reference/verbs.md": verbs.page,
    "reference/signals.md": catalogues.signals,
    "reference/estimators.md": catalogues.estimators,
    "reference/judges.md": catalogues.judges,
    "reference/formats.md": catalogues.formats,
    "reference/slices.md": catalogues.slices,
    "reference/codes.md": codes.page,
    "reference/usable.md": prospects.page,
    "reference/exhibits.md": catalogues.exhibits,
    "reference/files.md": contracts.page,
    "rooms.svg": rooms.picture,
}


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages, the pages outside docs/, and the files of the repository that pages link to."""
    for uri, make in MADE.items():
        files.append(File.generated(config, uri, content=make()))
    for name, uri in ROOT_PAGES.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    pages = [file for file in files if file.is_documentation_page()]
    for name in sorted({name for file in pages for name in copies(file.content_string, file.src_uri)}):
        files.append(File.generated(config, f"{COPIES}/{name}", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page's text with links that work in the site."""
    return in_site(extensions.filled(architecture.filled(markdown)), page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Return the page's HTML; each picture in it opens in full size."""
    return with_full_size(html)


@event_priority(-100)  # after the search plugin
def on_post_build(config: Any) -> None:
    """Write the search index as a script too, where the theme looks for it on pages opened from the disk."""
    index = Path(config.site_dir) / "search" / "search_index.json"
    index.with_suffix(".js").write_text(f"var __index = {index.read_text('utf-8')}", encoding="utf-8")
