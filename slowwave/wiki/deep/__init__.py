"""The deep pass: a model works on a scratch copy of the memory with Slowwave's tools, and hashes show what it changed.

This package holds the content of a copy, the folder that holds it, tools and commands, the loop, and the resulting difference. Nothing
here has a connection to the store: the consequences of a difference belong to the planner ``deep_pass``, gates and the run to
``slowwave.night``.
"""

from __future__ import annotations
