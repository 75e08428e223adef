"""`python -m odradek`: the same as the `odradek` command."""

from __future__ import annotations

import sys

from odradek.cli.main import main

sys.exit(main())
