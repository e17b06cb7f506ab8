"""Audits and planners of pages and claims, found by the entry point of ``slowwave.operations`` that names this package."""
