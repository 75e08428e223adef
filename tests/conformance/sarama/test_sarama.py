"""Sarama (Go) against our broker: each check of `main.go` is a test here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("main.go")
COORDINATORS = {"group"}
CHECKS = [
    name for name in re.findall(r'check\("([^"]+)"', SOURCE.read_text()) if name not in COORDINATORS
]


@pytest.fixture(scope="module")
def report(go_program, broker, run_tap):
    """One run of the program."""
    return run_tap([go_program(SOURCE.parent), broker.bootstrap_servers])


@pytest.mark.parametrize("check", CHECKS)
def test_sarama(report, check):
    """The check of this name in the program holds."""
    report.expect(check)
