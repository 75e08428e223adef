"""How long to wait before the next attempt: doubling, jittered, and with an end.

Pure: the random source is handed in. The figures are Kafka's `retry.backoff.ms` and
`retry.backoff.max.ms` with KIP-580's jitter.
"""

from __future__ import annotations

from random import Random
from typing import Final

FIRST_MS: Final = 100.0
LONGEST_MS: Final = 1000.0
JITTER: Final = 0.2
# With the waits above about six seconds in all: a leader election or a controller change fits in.
ATTEMPTS_MAX: Final = 10


class Backoff:
    """One call's waits. `next_ms` gives None when it is time to give up."""

    __slots__ = ("_attempts", "_rng")

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._attempts = 1

    def next_ms(self) -> float | None:
        """Milliseconds to wait before the next attempt."""
        if self._attempts >= ATTEMPTS_MAX:
            return None
        wait_ms = min(LONGEST_MS, FIRST_MS * 2 ** (self._attempts - 1))
        self._attempts += 1
        return float(wait_ms * self._rng.uniform(1 - JITTER, 1 + JITTER))
