"""`odradek broker`: one broker in the foreground.

Kept on argparse and off everything that the broker itself does not need: from the command to the
first answer should take a blink.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from odradek import __version__
from odradek.broker.node import Broker
from odradek.config.broker import BrokerConfig
from odradek.config.declare import ConfigError
from odradek.config.properties import parse_properties
from odradek.coordination.contract import StoreUnusable
from odradek.runtime import loop as event_loop
from odradek.runtime.logs import set_up_logging
from odradek.storage.log_dir import LogDirRefused

log = logging.getLogger("odradek.broker")

# Requests leave next to no cycles behind: collecting 70 times less often saves a twentieth of the CPU.
GC_THRESHOLDS: Final = (50_000, 20, 50)
# How long the loop's thread waits for a pool thread that computes (compaction, look-ups by time).
SWITCH_INTERVAL_SECONDS: Final = 0.0005

EXAMPLES = """\
examples:
  odradek broker                                        loopback, port 9092, data in your home
  odradek broker server.properties                      an existing Kafka configuration
  odradek broker --set log.dirs=/data/a,/data/b --set num.partitions=3
  odradek broker --set listeners=PLAINTEXT://0.0.0.0:9092 --set advertised.listeners=PLAINTEXT://me:9092

stop it with Ctrl-C or SIGTERM; it flushes its logs and starts from there again
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="odradek broker",
        description="Run one broker in the foreground.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", nargs="?", type=Path, help="a server.properties file")
    parser.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="set a broker key; wins over the file (repeat)",
    )
    parser.add_argument("--log-level", default="info", help="debug, info, warning or error")
    parser.add_argument("--json", action="store_true", help="log lines as JSON objects")
    return parser


def main(argv: Sequence[str]) -> int:
    """Run the command; the exit code."""
    arguments = _parser().parse_args(argv)
    set_up_logging(arguments.log_level, as_json=arguments.json)
    try:
        settings = _settings(arguments.file, arguments.settings)
        config, notes = BrokerConfig.from_strings(settings, os.environ)
    except (ConfigError, OSError, ValueError) as error:
        print(f"odradek broker: {error}", file=sys.stderr)
        return 2
    for note in notes:
        log.warning("%s", note)
    _raise_open_files_limit()
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    try:
        event_loop.run(_serve(config))
    except (ConfigError, LogDirRefused, StoreUnusable) as error:
        print(f"odradek broker: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"odradek broker: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def _settings(file: Path | None, pairs: Sequence[str]) -> dict[str, str]:
    settings = parse_properties(file.read_bytes(), str(file)) if file else {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ConfigError(f"--set {pair}: expected KEY=VALUE")
        settings[name.strip()] = value
    return settings


async def _serve(config: BrokerConfig) -> None:
    stopping = asyncio.Event()
    running = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        running.add_signal_handler(number, stopping.set)
    broker = Broker(config)
    await broker.start()
    # What was built so far lives as long as the process: keep the collector from walking it again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    listeners = ", ".join(f"{name} {port}" for name, port in broker.ports.items())
    log.info(
        "odradek %s serves as node %d: %s; data in %s",
        __version__,
        config.node_id,
        listeners,
        ", ".join(config.log_dirs),
    )
    await stopping.wait()
    log.info("stopping")
    await broker.stop()
    log.info("stopped")


def _raise_open_files_limit() -> None:
    """A broker needs a descriptor per connection and per open segment; take what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
