"""Results of a night as Dagster assets, partitioned by namespace. The work itself is done by ``slowwave``."""
