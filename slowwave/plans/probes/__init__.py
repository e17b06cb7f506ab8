"""Probes: what a plan has to prove before a person sees it: recall, specifics, statements, isolation, blast radius."""

from __future__ import annotations
