"""One connection to one broker: requests out, replies in, in order.

A frame is a four-byte big-endian length, a header with the correlation id, and the body. A broker
answers in the order in which it was asked, so the oldest request in flight is the one that a reply
must belong to; anything else means that the two ends no longer agree, and the connection is
dropped. So is one whose reply does not come in time: its place in the order would stay open for
ever.

Owned by one event loop. A reader task runs as long as the connection lives; `failure` says why it
ended. `open` asks ApiVersions first, every request then uses the highest version that both sides
know.
"""

from __future__ import annotations

import asyncio
import errno
import os
import struct
from collections import deque
from dataclasses import dataclass
from typing import Final, TypeVar

import odradek
from odradek.client.addresses import Address
from odradek.client.failures import (
    BrokerUnreachableError,
    ConnectionLostError,
    NotKafkaError,
    UnsupportedError,
    check,
)
from odradek.client.settings import ClientSettings
from odradek.errors import ApiError, Err
from odradek.protocol import codec, headers
from odradek.protocol.fields import Message
from odradek.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

R = TypeVar("R", bound=Message)

_LENGTH: Final = struct.Struct(">i")
# The first reply is the list of APIs, some hundred bytes. "HTTP" read as a length is 1.2 GB.
_HANDSHAKE_BYTES_MAX: Final = 1024 * 1024
_LOWEST: Final = 0


@dataclass(slots=True)
class _InFlight:
    """A request that waits for its reply: the frame without its length goes to `reply`."""

    correlation_id: int
    reply: asyncio.Future[bytes]


class Connection:
    """An open connection whose broker's versions are known."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: Address,
        settings: ClientSettings,
    ) -> None:
        self.address = address
        self.versions: dict[int, range] = {}
        self.failure: ApiError | None = None
        self._why = ""
        self._reader = reader
        self._writer = writer
        self._settings = settings
        self._frame_bytes_max = _HANDSHAKE_BYTES_MAX
        self._next_correlation_id = 0
        self._in_flight: deque[_InFlight] = deque()
        self._slots = asyncio.Semaphore(settings.in_flight_max)
        self._read_task = asyncio.create_task(self._read_replies(), name=f"read {address}")

    @classmethod
    async def open(cls, address: Address, settings: ClientSettings) -> Connection:
        """Connect and learn which versions the broker speaks."""
        try:
            async with asyncio.timeout(settings.connect_timeout_ms / 1000):
                reader, writer = await asyncio.open_connection(
                    address.host, address.port, ssl=settings.ssl
                )
        except TimeoutError:
            wait_s = settings.connect_timeout_ms / 1000
            raise BrokerUnreachableError([address], f"no reply in {wait_s:g} s") from None
        except OSError as error:
            raise BrokerUnreachableError([address], _reason(error)) from error
        connection = cls(reader, writer, address, settings)
        try:
            await connection._learn_versions()
        except ConnectionLostError as lost:
            raise BrokerUnreachableError([address], lost.why) from lost
        finally:
            if not connection.versions:
                await connection.close()
        connection._frame_bytes_max = settings.response_bytes_max
        return connection

    async def send(
        self,
        request: Message,
        reply_type: type[R],
        *,
        min_version: int = 0,
        max_version: int | None = None,
    ) -> R:
        """Ask, at the highest version that both sides know, and give back the reply."""
        version = self.version_for(request, min_version, max_version)
        frame = await self._exchange(request, version, self._settings.request_timeout_ms)
        return self._decode(frame, reply_type, version)

    def version_for(
        self, request: Message, min_version: int = 0, max_version: int | None = None
    ) -> int:
        """The version at which this broker and this client meet."""
        name = type(request).__name__.removesuffix("Request")
        ours: range = request.VERSIONS
        theirs = self.versions.get(_key_of(type(request)))
        if theirs is None:
            raise UnsupportedError(self.address, name, "it does not offer this API")
        newest = ours[-1] if max_version is None else max_version
        version = min(newest, theirs[-1])
        if version < max(ours[0], theirs[0], min_version):
            raise UnsupportedError(
                self.address,
                name,
                f"it speaks versions {theirs[0]} to {theirs[-1]}, this needs "
                f"{max(ours[0], min_version)} to {newest}",
            )
        return version

    async def close(self) -> None:
        """Close; requests in flight fail. Harmless when it is closed already."""
        self._fail("closed by this client")
        self._read_task.cancel()
        await asyncio.gather(self._read_task, return_exceptions=True)
        try:
            await self._writer.wait_closed()
        except OSError:
            pass  # it was broken before, and `failure` says how

    async def _learn_versions(self) -> None:
        request = ApiVersionsRequest(
            client_software_name="odradek", client_software_version=odradek.__version__
        )
        version = ApiVersionsRequest.VERSIONS[-1]
        timeout_ms = self._settings.connect_timeout_ms
        frame = await self._exchange(request, version, timeout_ms)
        if _error_code(frame) == Err.UNSUPPORTED_VERSION:
            # A broker that does not know our version answers in the layout of version 0 (KIP-511).
            version = _LOWEST
            frame = await self._exchange(ApiVersionsRequest(), version, timeout_ms)
        reply = self._decode(frame, ApiVersionsResponse, version)
        check(reply.error_code)
        self.versions = {
            api.api_key: range(api.min_version, api.max_version + 1) for api in reply.api_keys
        }

    async def _exchange(self, request: Message, version: int, timeout_ms: int) -> bytes:
        """Put one request on the wire and wait for the frame that answers it."""
        body = codec.encode(request, version)
        await self._slots.acquire()  # given back when the reply is here, or will never be
        entry = self._write(_key_of(type(request)), version, body)
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._writer.drain()
                return await entry.reply
        except TimeoutError:
            self._fail(f"no reply to {type(request).__name__} in {timeout_ms / 1000:g} s")
        except OSError as error:
            self._fail(_reason(error))
        raise self._lost(sent=True)

    def _write(self, api_key: int, version: int, body: bytes) -> _InFlight:
        if self.failure is not None:
            self._slots.release()
            raise self._lost(sent=False)
        correlation_id = self._next_correlation_id
        self._next_correlation_id = (correlation_id + 1) & 0x7FFFFFFF
        header = headers.encode_request_header(
            api_key, version, correlation_id, self._settings.client_id
        )
        entry = _InFlight(correlation_id, asyncio.get_running_loop().create_future())
        self._in_flight.append(entry)
        self._writer.writelines((_LENGTH.pack(len(header) + len(body)), header, body))
        return entry

    async def _read_replies(self) -> None:
        try:
            while True:
                size = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))[0]
                if not _LENGTH.size <= size <= self._frame_bytes_max:
                    raise NotKafkaError(self.address, f"a reply of {size} bytes")
                self._deliver(await self._reader.readexactly(size))
        except asyncio.IncompleteReadError:
            self._fail("the broker closed it")
        except OSError as error:
            self._fail(_reason(error))
        except NotKafkaError as error:
            self._fail(error.message, error)

    def _deliver(self, frame: bytes) -> None:
        correlation_id = _LENGTH.unpack_from(frame)[0]
        if not self._in_flight or self._in_flight[0].correlation_id != correlation_id:
            raise NotKafkaError(self.address, f"a reply to {correlation_id}, which is not its turn")
        entry = self._settled()
        if not entry.reply.done():
            entry.reply.set_result(frame)

    def _settled(self) -> _InFlight:
        self._slots.release()
        return self._in_flight.popleft()

    def _decode(self, frame: bytes, reply_type: type[R], version: int) -> R:
        api_key = _key_of(reply_type)
        try:
            _, offset = headers.parse_response_header(memoryview(frame), api_key, version)
            return codec.decode(reply_type, frame, version, offset)
        except codec.DecodeError as error:
            reason = f"its {reply_type.__name__} version {version} cannot be read: {error}"
            self._fail(reason, NotKafkaError(self.address, reason))
            raise NotKafkaError(self.address, reason) from error

    def _fail(self, why: str, failure: ApiError | None = None) -> None:
        """Mark the connection as dead and tell everyone who waits; the first reason counts."""
        if self.failure is None:
            self.failure = failure or ConnectionLostError(self.address, why, sent=True)
            self._why = why
        self._writer.close()
        while self._in_flight:
            entry = self._settled()
            if not entry.reply.done():
                entry.reply.set_exception(self._lost(sent=True))
                entry.reply.exception()  # seen: whoever waited may be gone by now

    def _lost(self, *, sent: bool) -> ApiError:
        assert self.failure is not None
        if isinstance(self.failure, ConnectionLostError):
            return ConnectionLostError(self.address, self._why, sent=sent)
        return self.failure


def _key_of(message: type[Message]) -> int:
    assert message.API_KEY is not None, f"{message.__name__} is not part of an API"
    return message.API_KEY


def _error_code(frame: bytes) -> int:
    """The first field of an ApiVersions reply, which is its error code in every version."""
    return int.from_bytes(frame[4:6], "big", signed=True)


def _reason(error: OSError) -> str:
    """The system's words, without the addresses that asyncio adds."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    if "Connect call failed" in str(error):  # one per address that the host's name stands for
        return os.strerror(errno.ECONNREFUSED).lower()
    return (error.strerror or str(error) or type(error).__name__).lower()
