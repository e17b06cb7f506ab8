"""A namespace at one instant: its tables and their schema, its files, and the SQL models over it. Reads the store, never writes memory."""

from __future__ import annotations
