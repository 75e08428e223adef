"""kafkajs (Node) against our broker: each check of `main.js` is a test here.

Its consumer cannot do without a group, so only producers and admin are asked of a broker without groups.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("main.js")
COORDINATORS = {"group"}
CHECKS = [
    name.replace("${name}", kind)
    for name in re.findall(r"check\(['`]([^'`]+)['`]", SOURCE.read_text())
    for kind in (("plain", "idempotent") if "${name}" in name else ("",))
    if name not in COORDINATORS
]


@pytest.fixture(scope="module")
def report(conformance_cache, may_fetch, build, broker, run_tap):
    """One run of the program, with its package from the cache folder."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm")
    folder = conformance_cache / "kafkajs"
    if not (folder / "node_modules" / "kafkajs").is_dir():
        if not may_fetch:
            pytest.skip("needs the package kafkajs; ODRADEK_CONFORMANCE=all fetches it")
        folder.mkdir(exist_ok=True)
        shutil.copy(SOURCE.with_name("package.json"), folder)
        build(["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"], folder)
    shutil.copy(SOURCE, folder)
    return run_tap(["node", "main.js", broker.bootstrap_servers], folder)


@pytest.mark.parametrize("check", CHECKS)
def test_kafkajs(report, check):
    """The check of this name in the program holds."""
    report.expect(check)
