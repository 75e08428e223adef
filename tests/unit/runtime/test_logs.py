"""Log lines reach standard error as text, or as one JSON object each."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from odradek.runtime.logs import JsonFormatter, set_up_logging


@pytest.fixture(autouse=True)
def restore() -> Iterator[None]:
    """The root logger as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", as_json=False)
    logging.getLogger("odradek.x").info("hello %s", "there")
    logging.getLogger("odradek.x").debug("not shown")
    line = capsys.readouterr().err
    assert line.endswith(" INFO    odradek.x  hello there\n")
    assert line.count("\n") == 1


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Names, messages with quotes and line breaks, and tracebacks survive."""
    set_up_logging("debug", as_json=True)
    logger = logging.getLogger("odradek.x")
    logger.debug('a "quoted"\nline of %s', b"\xff")
    try:
        raise ValueError("why")
    except ValueError:
        logger.exception("failed")
    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert first["message"] == "a \"quoted\"\nline of b'\\xff'"
    assert (first["level"], first["logger"]) == ("debug", "odradek.x")
    assert len(first["time"]) == len("2026-01-01T00:00:00.000")
    assert "traceback" not in first
    assert "ValueError: why" in second["traceback"]


def test_milliseconds_are_never_four_digits() -> None:
    """999.9 ms must not become .1000."""
    record = logging.LogRecord("x", logging.INFO, "f", 1, "m", (), None)
    record.msecs = 999.9
    assert len(json.loads(JsonFormatter().format(record))["time"]) == 23
