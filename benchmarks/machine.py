"""The machine and the programs, in words that identify neither host nor folders."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

import confluent_kafka

import odradek
from benchmarks.process import MeasureError, run
from benchmarks.toolbox import KAFKA_LIBS


def describe() -> dict[str, str]:
    """Facts for the head of the report."""
    java = _said(["java", "-version"], r'version "([^"]+)"')
    kcat = _said(["kcat", "-V"], r"librdkafka ([\d.]+)")
    go = _said(["go", "version"], r"go([\d.]+)")
    return {
        "machine": f"{os.cpu_count()} cores, {_memory_gib():.0f} GiB of memory,"
        f" {platform.system()} {platform.machine()}; clients and brokers share it, over loopback",
        "Odradek": f"{odradek.__version__} on {platform.python_implementation()}"
        f" {platform.python_version()}",
        "Apache Kafka": f"{_kafka_version()} on Java {java}, one combined KRaft node, defaults,"
        " 1 GB heap",
        "clients": f"Kafka's own tools; kcat with librdkafka {kcat}; librdkafka"
        f" {confluent_kafka.libversion()[0]} from Python; a raw load client (Go {go})",
    }


def load_average() -> float:
    """Of the last minute."""
    return os.getloadavg()[0]


def _memory_gib() -> float:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def _kafka_version() -> str:
    for jar in Path(KAFKA_LIBS).glob("kafka-server-[0-9]*.jar"):
        return jar.stem.removeprefix("kafka-server-")
    return "of unknown version"


def _said(command: list[str], pattern: str) -> str:
    """A version out of what a program prints about itself."""
    try:
        text = run(["sh", "-c", '"$@" 2>&1', "sh", *command], seconds_max=20)
    except (MeasureError, OSError):
        return "(absent)"
    found = re.search(pattern, text)
    return found[1] if found else "(unknown)"
