"""SQL models over a snapshot: one SELECT a file under ``models/``, run by DuckDB and read by sqlglot.

A file's name is the model's name; its leading ``--`` comments are the description and the checks. A table in schema ``snapshot`` is a
source, one without a schema is a model. ``slowwave.snapshots.models`` reads and runs them, and ``slowwave.dagster.assets`` shows them as
assets ``model/<name>``. The wheel contains them.
"""
