"""The deep pass: a model works on a scratch copy of the memory, with tools of ours, and what it left there is judged by hashing.

What a copy holds, the folder that holds it, tools and commands, the loop, and the difference that comes of it. Nothing here has a
connection to the store: what follows from a difference belongs to the planner ``deep_pass``, gates and the run to ``slowwave.night``.
"""

from __future__ import annotations
