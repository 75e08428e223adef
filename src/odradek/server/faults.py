"""Faults on request: fail, delay or drop the next requests of an API.

For tests of clients and applications: `odradek.testing.EmbeddedBroker` hands the broker a `Faults` and
arms it from any thread. A broker started from the command line has none, and pays nothing.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey


@dataclass(slots=True, kw_only=True)
class Fault:
    """What happens to the next `count` requests of `api_key` (None: of any API)."""

    api_key: ApiKey | None = None
    count: int = 1
    error: Err | None = None
    delay_ms: float = 0.0
    drop: bool = False


class Faults:
    """The armed faults, in the order they were armed."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._lock = threading.Lock()

    def arm(self, fault: Fault) -> None:
        """Let `fault` happen to the requests that come from now on."""
        assert fault.count > 0
        with self._lock:
            self._faults.append(fault)

    def clear(self) -> None:
        """Let everything be well again."""
        with self._lock:
            self._faults.clear()

    def take(self, api_key: int) -> Fault | None:
        """The fault that a request of this API suffers now, if any."""
        if not self._faults:
            return None
        with self._lock:
            for fault in self._faults:
                if fault.api_key is None or fault.api_key == api_key:
                    fault.count -= 1
                    if fault.count == 0:
                        self._faults.remove(fault)
                    return fault
        return None
