"""Apache Kafka's Java client against our broker: each check of `Conformance.java` is a test here.

Scenarios S-2.8, S-4.2, S-4.3, S-4.6, S-4.8, S-5.5, S-5.11, S-5.12, S-5.13, S-9.2.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.peer

SOURCE = Path(__file__).with_name("Conformance.java")
# What needs coordinators is not asked of a broker that has none.
COORDINATORS = {"group", "transaction"}
CHECKS = [
    name for name in re.findall(r'check\("([^"]+)"', SOURCE.read_text()) if name not in COORDINATORS
]


@pytest.fixture(scope="module")
def report(kafka_jars, broker, run_tap):
    """One run of the program."""
    command = ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-Dlog4j2.level=OFF", "-cp",
               f"{kafka_jars}/*", str(SOURCE), broker.bootstrap_servers]  # fmt: skip
    return run_tap(command)


@pytest.mark.parametrize("check", CHECKS)
def test_the_java_client(report, check):
    """The check of this name in the program holds."""
    report.expect(check)
