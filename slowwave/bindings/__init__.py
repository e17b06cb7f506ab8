"""Bindings of stores: the tables and columns of a snapshot in a database, and the columns that must change together."""

from __future__ import annotations
