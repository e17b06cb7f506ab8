"""A namespace at one instant: its tables and their schema, its files, and the SQL models over it.

This package reads the store and never writes memory.
"""

from __future__ import annotations
