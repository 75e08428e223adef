"""From a frame to a reply: header, version check, decode, handler, encode.

The one place where errors become bytes. What a client may send: a malformed frame closes its connection
and logs who and why; an API or version that is not served closes it too, as Apache Kafka does, except
that ApiVersions answers in its oldest form so that the client can try again with a version both know.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from time import perf_counter
from types import CoroutineType
from typing import Any, Final

from odradek.errors import ApiError, Err
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.codec import DecodeError, EncodeError, decode_from, encode
from odradek.protocol.headers import RequestHeader, parse_request_header
from odradek.protocol.registry import request_type, response_type
from odradek.server.context import Context, Services
from odradek.server.faults import Fault, Faults
from odradek.server.registry import Handler, api_name
from odradek.server.replies import error_response, frame_reply
from odradek.server.session import Session

log = logging.getLogger(__name__)

OLDEST_CLIENTS: Final = (
    "clients of release 0.11 or newer work (librdkafka 0.11, kafka-python 1.4, sarama 1.17 ...)"
)
_KNOWN: Final = frozenset(int(key) for key in ApiKey)


class Dispatcher:
    """Routes requests to handlers; one per broker."""

    def __init__(
        self,
        services: Services,
        handlers: dict[int, Handler],
        loop: asyncio.AbstractEventLoop,
        faults: Faults | None = None,
    ) -> None:
        self._services = services
        self._handlers = handlers
        self._loop = loop
        self._faults = faults
        self._probe = services.probe
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, session: Session, frame: memoryview) -> None:
        """Handle one request: its reply is queued on the session now, or the session is parked."""
        started = perf_counter()
        try:
            header = parse_request_header(frame)
        except DecodeError as error:
            session.close(f"malformed request header: {error}", warn=True)
            return
        handler = self._handlers.get(header.api_key)
        if handler is None or header.api_version not in handler.versions:
            self._refuse(session, header)
            return
        if self._faults is not None:
            fault = self._faults.take(header.api_key)
            if fault is not None:
                self._suffer(fault, session, handler, header, frame, started)
                return
        self._serve(session, handler, header, frame, started)

    def _serve(
        self,
        session: Session,
        handler: Handler,
        header: RequestHeader,
        frame: memoryview,
        started: float,
    ) -> None:
        context = self._context(session, header)
        try:
            if handler.raw:
                handler.call(session, context, frame, header.body_offset)
                self._probe.request_done(header.api_key, started)
            else:
                self._call(session, handler, context, self._decode(header, frame), started)
        except DecodeError as error:
            self._hang_up_on_malformed(session, handler, header, error)
        except Exception:  # the boundary: nothing a client sends may stop us
            log.exception("%s v%d failed", handler.name, header.api_version)
            self._probe.unexpected_errors += 1
            session.close(f"{handler.name} failed", warn=True)

    def _call(
        self, session: Session, handler: Handler, context: Context, request: Any, started: float
    ) -> None:
        """Answer a decoded request now, or park the session until its handler has the answer."""
        try:
            response = handler.call(context, request)
        except Exception as error:  # noqa: BLE001 - the boundary
            response = self._failure(context, request, error)
        if type(response) is CoroutineType:
            session.park()
            self._start(self._wait(session, context, response, request, started))
            return
        session.reply_bytes(self._encode(context, response))
        self._probe.request_done(context.api_key, started)

    def _decode(self, header: RequestHeader, frame: memoryview) -> Any:
        # What follows the message is ignored, as Apache Kafka does: librdkafka 2.16 sends three bytes
        # too many with Metadata v13 for all topics.
        request, _ = decode_from(
            request_type(header.api_key), frame, header.body_offset, header.api_version
        )
        return request

    def _hang_up_on_malformed(
        self, session: Session, handler: Handler, header: RequestHeader, error: DecodeError
    ) -> None:
        session.close(
            f"malformed {handler.name} v{header.api_version} request of client "
            f"{header.client_id!r}: {error}",
            warn=True,
        )

    async def _wait(
        self,
        session: Session,
        context: Context,
        coming: Coroutine[Any, Any, Any],
        request: Any,
        started: float,
    ) -> None:
        try:
            response = await coming
        except Exception as error:  # noqa: BLE001 - the boundary
            response = self._failure(context, request, error)
        self._probe.request_done(context.api_key, started)
        try:
            session.resume((self._encode(context, response),))
        except EncodeError:
            name = api_name(ApiKey(context.api_key))
            log.exception("%s v%d failed", name, context.api_version)
            self._probe.unexpected_errors += 1
            session.close(f"{name} failed", warn=True)

    def _context(self, session: Session, header: RequestHeader) -> Context:
        return Context(
            self._services,
            session.listener,
            session.address,
            header.client_id,
            header.api_key,
            header.api_version,
            header.correlation_id,
        )

    def _encode(self, context: Context, response: Any) -> bytes:
        body = response if type(response) is bytes else encode(response, context.api_version)
        return frame_reply(context.api_key, context.api_version, context.correlation_id, body)

    def _failure(self, context: Context, request: Any, error: Exception) -> Any:
        """The reply to a request whose handler raised instead of answering."""
        err = Err.UNKNOWN_SERVER_ERROR
        if isinstance(error, ApiError):
            err = error.err
        else:
            log.error("%s failed", api_name(ApiKey(context.api_key)), exc_info=error)
            self._probe.unexpected_errors += 1
        return error_response(
            response_type(context.api_key), request, context.api_version, err, str(error)
        )

    def _refuse(self, session: Session, header: RequestHeader) -> None:
        """Answer, or hang up on, an API or version that is not served."""
        if header.api_key == ApiKey.API_VERSIONS:
            context = self._context(session, header._replace(api_version=0))
            response = self._handlers[ApiKey.API_VERSIONS].call(context, None)
            response.error_code = Err.UNSUPPORTED_VERSION
            session.reply_bytes(self._encode(context, response))
            return
        served = self._handlers.get(header.api_key)
        name = api_name(ApiKey(header.api_key)) if header.api_key in _KNOWN else "unknown"
        versions = f"{served.versions.start}-{served.versions[-1]}" if served else "none"
        session.close(
            f"client {header.client_id!r} asked for {name} (api key {header.api_key}) "
            f"v{header.api_version}, served: {versions}; {OLDEST_CLIENTS}",
            warn=True,
        )

    def _suffer(
        self,
        fault: Fault,
        session: Session,
        handler: Handler,
        header: RequestHeader,
        frame: memoryview,
        started: float,
    ) -> None:
        """Let an armed fault happen to the request."""
        if fault.drop:
            session.close("dropped by an armed fault")
        elif fault.error is not None:
            try:
                request = self._decode(header, frame)
            except DecodeError as error:
                self._hang_up_on_malformed(session, handler, header, error)
                return
            if getattr(request, "acks", None) == 0:  # such a client waits for no answer
                session.close("failed by an armed fault")
                return
            response = error_response(
                response_type(header.api_key),
                request,
                header.api_version,
                fault.error,
                "an armed fault",
            )
            session.reply_bytes(self._encode(self._context(session, header), response))
        else:
            session.park()
            self._services.timers.call_later(
                fault.delay_ms,
                lambda: session.retry(
                    lambda: self._serve(session, handler, header, frame, started)
                ),
            )

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Give up what still waits."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
