"""The HTTP port answers its pages and survives whoever else comes: bad, huge, slow, broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any

import pytest

from odradek.server import http
from odradek.server.http import REQUEST_BYTES_MAX, HttpServer, json_folder, json_page


def broken() -> tuple[str, bytes]:
    raise RuntimeError("this page cannot be made")


PAGES = {
    "/healthz": json_page(lambda: {"status": "ok"}),
    "/metrics": lambda: ("text/plain", b"up 1\n"),
    "/broken": broken,
}
FOLDERS = {"/items/": json_folder({"a/b c": {"name": "a/b c"}}.get)}


def serve(*requests: bytes, eof: bool = False) -> list[tuple[int, dict[str, str], bytes]]:
    """The answers to some raw requests, each on a connection of its own; status 0: none."""

    async def main() -> list[tuple[int, dict[str, str], bytes]]:
        server = HttpServer(PAGES, FOLDERS)
        port = await server.start("127.0.0.1", 0)
        try:
            return [await exchange(port, request, eof) for request in requests]
        finally:
            await server.close()

    return run(main())


def run(main: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(main, 20))


async def exchange(port: int, request: bytes, eof: bool) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    if eof:
        writer.write_eof()
    try:
        answer = await reader.read()
    except ConnectionResetError:
        answer = b""
    writer.close()
    if not answer:
        return 0, {}, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return int(first.split()[1]), headers, body


def get(path: str, method: str = "GET") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def test_pages() -> None:
    """Each has its type and length, and ends its connection."""
    (status, headers, body), metrics = serve(get("/healthz"), get("/metrics?x=1"))
    assert (status, json.loads(body)) == (200, {"status": "ok"})
    assert headers["Content-Type"] == "application/json"
    assert int(headers["Content-Length"]) == len(body)
    assert headers["Connection"] == "close"
    assert (metrics[0], metrics[2]) == (200, b"up 1\n")


def test_folders() -> None:
    """The rest of the path, unquoted, names a page; one that is not there is not found."""
    good, missing = serve(get("/items/a%2Fb%20c"), get("/items/other"))
    assert (good[0], json.loads(good[2])) == (200, {"name": "a/b c"})
    assert missing[0] == 404
    assert "/items/…" in missing[2].decode()


def test_head_has_no_body() -> None:
    ((status, headers, body),) = serve(get("/metrics", "HEAD"))
    assert (status, headers["Content-Length"], body) == (200, "5", b"")


def test_an_unknown_page_names_those_there_are() -> None:
    ((status, _, body),) = serve(get("/nothing"))
    assert status == 404
    assert b"/healthz\n/metrics\n" in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "BREW", "get"])
def test_only_reading_is_allowed(method: str) -> None:
    assert serve(get("/healthz", method))[0][0] == 405


@pytest.mark.parametrize(
    "request_",
    [b"\r\n\r\n", b"GET\r\n\r\n", b"\xff\xfe\x00 \x80\r\n\r\n", b"GET  HTTP/1.1\r\n\r\n"],
)
def test_what_is_no_request_gets_an_error(request_: bytes) -> None:
    assert serve(request_)[0][0] in (400, 404, 405)


def test_a_huge_request_is_dropped_and_others_are_served() -> None:
    huge = b"GET /healthz HTTP/1.1\r\nX: " + b"x" * (4 * REQUEST_BYTES_MAX) + b"\r\n\r\n"
    (dropped, good) = serve(huge, get("/healthz"))
    assert dropped[0] in (0, 431)
    assert good[0] == 200


def test_an_unfinished_request_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, or when the client closes."""
    monkeypatch.setattr(http, "REQUEST_SECONDS_MAX", 0.05)
    assert serve(b"GET /healthz HT")[0][0] == 0
    assert serve(b"GET /healthz HT", eof=True)[0][0] == 0


def test_a_page_that_fails_is_an_error_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    """500 for the client, the reason in the log, and the next one is served."""
    failed, good = serve(get("/broken"), get("/healthz"))
    assert failed[0] == 500
    assert "this page cannot be made" in caplog.text
    assert good[0] == 200


def test_close_does_not_wait_for_the_unfinished() -> None:
    """A connection that never ends its request does not hold up a stop."""

    async def main() -> None:
        server = HttpServer(PAGES)
        port = await server.start("127.0.0.1", 0)
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /hea")
        await asyncio.sleep(0.05)
        async with asyncio.timeout(2):
            await server.close()
        writer.close()

    run(main())


def test_close_before_start() -> None:
    run(HttpServer(PAGES).close())
