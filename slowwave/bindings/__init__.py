"""Stores that are not ours, and our own: where each table of a snapshot lies in a database, and what has to change together there."""

from __future__ import annotations
