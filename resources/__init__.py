"""The resources of this project: the store that the environment names."""

from slowwave.dagster import build_resources

RESOURCES = build_resources()
"""``store``: ``SLOWWAVE_DATABASE_URL``, otherwise the embedded server."""
