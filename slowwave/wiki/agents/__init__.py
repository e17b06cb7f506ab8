"""What lets agents of other makers keep their memory in a namespace: one module an interface of theirs."""

from __future__ import annotations
