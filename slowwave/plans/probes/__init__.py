"""Probes that a plan has to pass before a person reviews it: recall, specifics, statements, isolation, blast radius."""

from __future__ import annotations
