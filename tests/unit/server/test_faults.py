"""Armed faults strike in order, as often as armed, from any thread."""

from __future__ import annotations

import threading

from odradek.errors import Err
from odradek.protocol.api_keys import ApiKey
from odradek.server.faults import Fault, Faults


def test_nothing_armed_nothing_taken() -> None:
    assert Faults().take(ApiKey.FETCH) is None


def test_a_fault_strikes_its_own_api_so_many_times() -> None:
    faults = Faults()
    faults.arm(Fault(api_key=ApiKey.FETCH, count=2, error=Err.UNKNOWN_SERVER_ERROR))
    assert faults.take(ApiKey.PRODUCE) is None
    assert faults.take(ApiKey.FETCH) is not None
    assert faults.take(ApiKey.FETCH) is not None
    assert faults.take(ApiKey.FETCH) is None


def test_faults_strike_in_the_order_they_were_armed() -> None:
    faults = Faults()
    first, second = Fault(api_key=ApiKey.FETCH, drop=True), Fault(delay_ms=5)
    faults.arm(first)
    faults.arm(second)
    assert faults.take(ApiKey.PRODUCE) is second  # of any API
    assert faults.take(ApiKey.FETCH) is first


def test_clear() -> None:
    faults = Faults()
    faults.arm(Fault(drop=True))
    faults.clear()
    assert faults.take(ApiKey.FETCH) is None


def test_no_fault_is_lost_or_doubled_between_threads() -> None:
    faults = Faults()
    taken: list[Fault] = []

    def take() -> None:
        for _ in range(500):
            fault = faults.take(ApiKey.FETCH)
            if fault is not None:
                taken.append(fault)

    faults.arm(Fault(api_key=ApiKey.FETCH, count=300, drop=True))
    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 300
