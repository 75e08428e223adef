"""The clocks of the operating system."""

from __future__ import annotations

import time


class SystemClock:
    """The machine's wall clock and its monotonic clock."""

    def now_ms(self) -> int:
        """Wall-clock milliseconds since 1970."""
        return time.time_ns() // 1_000_000

    def monotonic_ms(self) -> float:
        """Milliseconds that never go back."""
        return time.monotonic() * 1000.0
