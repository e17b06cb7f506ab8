"""Sensors: the partitions follow the store, an approval starts apply, a change starts audits, a crash is written down."""
