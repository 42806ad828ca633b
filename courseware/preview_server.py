"""Serves one preview at a local address; the page loads itself anew once its file has been saved."""

from __future__ import annotations

import mimetypes
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl
from wsgiref.simple_server import WSGIRequestHandler, make_server

from django.contrib.staticfiles import finders

from courseware.previewing import forget_glossary, page_of, preview_of
from courseware.served import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from wsgiref.simple_server import WSGIServer
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

    from courseware.previewing import Preview

HOST = "127.0.0.1"


class _Quiet(WSGIRequestHandler):
    """Says nothing of requests: what an author wants to see is the file."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base's name)
        del format, args


def server_of(path: Path, port: int, tell: Callable[[Preview], None]) -> WSGIServer:
    """Return a server of one file's preview; ``tell`` hears of it each time that it has changed. Raises OSError."""
    return make_server(HOST, port, application_of(path, tell), handler_class=_Quiet)


def application_of(path: Path, tell: Callable[[Preview], None]) -> WSGIApplication:
    """Return the preview as WSGI: the page at ``/`` and at the addresses of its own demonstrations, the file's state at ``/state``, and the site's static files."""
    told = state_of(path)

    def page(asked: Mapping[str, str]) -> bytes:
        nonlocal told
        state = state_of(path)
        if state != told:
            forget_glossary()
        found = preview_of(path, asked)
        if state != told:
            tell(found)
            told = state
        return page_of(found, seen=state).encode()

    def application(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        wanted = environ.get("PATH_INFO", "/")
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _answer(start, "405 Method Not Allowed", b"A preview takes no answers.")
        if wanted == "/" or wanted.startswith("/lessons/preview/"):
            asked = dict(parse_qsl(environ.get("QUERY_STRING", "")))
            return _answer(start, "200 OK", page(asked), "text/html; charset=utf-8")
        if wanted == "/state":
            return _answer(start, "200 OK", state_of(path).encode())
        if wanted.startswith("/static/"):
            found = finders.find(wanted.removeprefix("/static/"))
            if isinstance(found, str):
                kind = mimetypes.guess_type(found)[0] or "application/octet-stream"
                return _answer(start, "200 OK", Path(found).read_bytes(), kind)
        return _answer(start, "404 Not Found", b"A preview has one page. Go back to it.")

    return application


def state_of(path: Path) -> str:
    """Return a digest of the file and the glossary; it changes when one of them is saved."""
    digest = blake2b(digest_size=8)
    for each in (path, tree().lessons / "glossary.toml"):
        digest.update(each.read_bytes() if each.is_file() else b"")
    return digest.hexdigest()


def _answer(
    start: StartResponse, status: str, body: bytes, kind: str = "text/plain; charset=utf-8"
) -> list[bytes]:
    headers = [
        ("Content-Type", kind),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
    ]
    start(status, headers)
    return [body]
