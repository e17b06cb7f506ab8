"""The one partitioning: a partition is a namespace. The sensor ``namespaces`` keeps it equal to the store's table."""

from __future__ import annotations

import dagster as dg

namespaces = dg.DynamicPartitionsDefinition(name="namespaces")
