"""The reference pages say what the code says: a changed table with an old page fails here."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def render_docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("render_docs", ROOT / "scripts/render_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_pages_are_fresh(render_docs: ModuleType) -> None:
    assert render_docs.stale_pages(ROOT / "docs") == {}, "run `make docs`"


def test_check_notices_a_stale_page(
    render_docs: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert render_docs.main(["--folder", str(tmp_path)]) == 0
    assert render_docs.main(["--check", "--folder", str(tmp_path)]) == 0
    page = tmp_path / "errors.md"
    page.write_text(page.read_text().replace("OFFSET_OUT_OF_RANGE", "OFFSET_SOMEWHERE"))
    (tmp_path / "metrics.md").unlink()
    assert render_docs.main(["--check", "--folder", str(tmp_path)]) == 1
    shown = capsys.readouterr().err
    assert "docs/errors.md is stale: run `make docs`" in shown
    assert "docs/metrics.md is stale" in shown
    assert "docs/protocol.md" not in shown


def test_every_table_row_is_on_its_page(render_docs: ModuleType) -> None:
    assert "`log.segment.bytes`" in render_docs.configuration()
    assert "OFFSET_OUT_OF_RANGE" in render_docs.errors()
    assert "ApiVersions" in render_docs.protocol()
    assert "ServerProbe" in render_docs.metrics()
