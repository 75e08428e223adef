"""What the storage package reports while it works.

A probe is told facts and decides nothing; the broker's own turns them into metrics. Called on the
loop's thread, so it must be cheap.
"""

from __future__ import annotations

from typing import Protocol


class StorageProbe(Protocol):
    """Facts about logs."""

    def appended(self, topic: str, record_count: int, size_bytes: int, write_ms: float) -> None:
        """Batches were appended; the write took so long."""
        ...

    def flushed(self, duration_ms: float) -> None:
        """A log was synced in the background."""
        ...

    def rolled(self, topic: str) -> None:
        """A log began a new segment."""
        ...

    def deleted(self, topic: str, segment_count: int, size_bytes: int) -> None:
        """Segments went by retention or DeleteRecords."""
        ...

    def recovered(self, topic: str, truncated_bytes: int) -> None:
        """A log was checked after an unclean stop; so much had to be cut off."""
        ...

    def dir_failed(self, path: str) -> None:
        """A log dir went offline."""
        ...


class NoProbe:
    """Nobody is interested."""

    __slots__ = ()

    def appended(self, topic: str, record_count: int, size_bytes: int, write_ms: float) -> None:
        """Ignore it."""

    def flushed(self, duration_ms: float) -> None:
        """Ignore it."""

    def rolled(self, topic: str) -> None:
        """Ignore it."""

    def deleted(self, topic: str, segment_count: int, size_bytes: int) -> None:
        """Ignore it."""

    def recovered(self, topic: str, truncated_bytes: int) -> None:
        """Ignore it."""

    def dir_failed(self, path: str) -> None:
        """Ignore it."""
