"""Alembic's environment: migrations run on the connection that ``slowwave.store.migrate`` hands over."""

from alembic import context

from slowwave.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, version_table_schema="night", include_schemas=True)
with context.begin_transaction():
    context.run_migrations()
