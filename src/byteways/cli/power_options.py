"""Options of `check` and `compare` on what a comparison has to find."""

from __future__ import annotations

from typing import Annotated

import typer

from byteways.verdicts.two_runs.wording_options import LEAST_EFFECT, STRICT

LeastEffect = Annotated[str | None, typer.Option("--least-effect", help=LEAST_EFFECT)]
Strict = Annotated[bool, typer.Option("--strict", help=STRICT)]
