"""Fixtures of the stories that are told through the program."""

from __future__ import annotations

from tests.surfaces.cli.conftest import run

__all__ = ["run"]
