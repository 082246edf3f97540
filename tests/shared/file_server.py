"""A web server with one file, which is slow, wrong or changing as a test wants."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What a web server has and does; `requested` are the ranges asked for by GET, None for the whole file."""

    content: bytes = b"0123456789"
    headers: dict[str, str | None] = field(default_factory=lambda: {"ETag": '"1"'})
    ranges: bool = True
    range_offset: int = 0
    status: int = 200
    head_status: int | None = None
    sent_at_most: int | None = None
    before_answer: Callable[["Site"], None] = lambda site: None
    after_answer: Callable[["Site"], None] = lambda site: None
    requested: list[str | None] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    def __init__(self, site: Site, *arguments: object) -> None:
        self.site = site
        super().__init__(*arguments)  # type: ignore[arg-type]  # those of the server

    def do_HEAD(self) -> None:
        self._head(self.site.content, self.site.head_status or self.site.status)

    def do_GET(self) -> None:
        site, wanted = self.site, self.headers["Range"]
        site.requested.append(wanted)
        site.before_answer(site)
        if wanted and site.ranges:
            begin, end = (int(number) + site.range_offset for number in wanted.removeprefix("bytes=").split("-"))
            part = site.content[begin : end + 1]
            stated = {"Content-Range": f"bytes {begin}-{begin + len(part) - 1}/{len(site.content)}"}
            self._head(part, 206, stated)
        else:
            part = site.content
            self._head(part, site.status)
        self.wfile.write(part[: site.sent_at_most])
        if site.sent_at_most is not None:
            time.sleep(0.1)  # so that what was sent is read before the connection is closed
        site.after_answer(site)

    def _head(self, content: bytes, status: int, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(more or {}), **self.site.headers}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def serving(site: Site) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, site)) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/day.jsonl"
        server.shutdown()
