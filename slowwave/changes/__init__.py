"""Changes of memory: what each kind of mutation may do, and how mutations are simulated, applied and undone."""

from __future__ import annotations
