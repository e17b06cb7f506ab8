"""What agents say by day: subjects, the claims about them, what each claim rests on, and what became of it.

A claim is a memory of the kind ``claim``, so that searches, wakes and nights read it like any other. Here nothing of a canonical page is
changed: that is a plan's, as is whatever else changes what is remembered.
"""

from __future__ import annotations
