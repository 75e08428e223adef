"""The broker's own HTTP port: `/healthz`, `/metrics`, `/state`, `/groups`, `/groups/<id>`.

Read-only pages for operators and scrapers, on loopback unless configured otherwise. A few lines of
HTTP/1.1 on asyncio streams: a web framework would double the broker's start-up time and memory. Requests
are bounded in size and time, every answer closes its connection.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import unquote

log = logging.getLogger(__name__)

REQUEST_BYTES_MAX: Final = 8 * 1024
REQUEST_SECONDS_MAX: Final = 5.0

# A page gives its content type and body.
Page = Callable[[], tuple[str, bytes]]
# A folder of pages: is given the rest of the path, gives None where there is no such page.
Folder = Callable[[str], tuple[str, bytes] | None]


def json_page(state: Callable[[], Mapping[str, Any]]) -> Page:
    """A page that shows what `state` returns."""
    return lambda: _json(state())


def json_folder(find: Callable[[str], Mapping[str, Any] | None]) -> Folder:
    """A folder of pages that show what `find` returns for their names."""

    def page(name: str) -> tuple[str, bytes] | None:
        found = find(name)
        return None if found is None else _json(found)

    return page


def _json(document: Mapping[str, Any]) -> tuple[str, bytes]:
    return "application/json", json.dumps(document, indent=2).encode() + b"\n"


class HttpServer:
    """Serves pages by their paths, and folders of pages by how their paths begin."""

    def __init__(
        self, pages: Mapping[str, Page], folders: Mapping[str, Folder] | None = None
    ) -> None:
        self._pages = dict(pages)
        self._folders = dict(folders or {})
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port."""
        self._server = await asyncio.start_server(
            self._serve, host, port, limit=REQUEST_BYTES_MAX, reuse_address=True
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(REQUEST_SECONDS_MAX):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            log.debug("dropped an HTTP connection that sent no request")
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if method not in ("GET", "HEAD"):
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"only GET\n")
        try:
            found = self._find(path)
        except Exception:
            log.exception("the page %s cannot be made", path)
            return _response(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain", b"see the log\n")
        if found is None:
            places = [*self._pages, *(f"{folder}…" for folder in self._folders)]
            body = "\n".join(["there is:", *places, ""]).encode()
            return _response(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", body)
        return _response(HTTPStatus.OK, *found, head_only=method == "HEAD")

    def _find(self, path: str) -> tuple[str, bytes] | None:
        if (page := self._pages.get(path)) is not None:
            return page()
        for start, folder in self._folders.items():
            if path.startswith(start):
                return folder(unquote(path.removeprefix(start)))
        return None


def _response(
    status: HTTPStatus, content_type: str, body: bytes, *, head_only: bool = False
) -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if head_only else body)
