"""The benchmarks are a package of the repository, not of the distribution: make them importable."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3]))
