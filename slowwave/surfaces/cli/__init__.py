"""The command line. Commands parse, call the library and show; they decide nothing."""

from __future__ import annotations
