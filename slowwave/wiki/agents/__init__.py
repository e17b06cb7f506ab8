"""Interfaces through which agents of other makers keep their memory in a namespace: one module per interface."""

from __future__ import annotations
