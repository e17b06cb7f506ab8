"""Statements that agents make at run time: subjects, the claims about them, the evidence of each claim, and its events.

A claim is a memory of the kind ``claim``, so searches, wakes and nights treat it like any other memory. This package never changes a
canonical page: a plan does that, as it makes every other change to what is remembered.
"""

from __future__ import annotations
