"""Audits and planners of pages and claims, registered by the entry point ``slowwave.operations`` of this package."""
