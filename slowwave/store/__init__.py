"""The store: catalogue of tables, migrations, roles, embedded server, run ledger, settings and digest."""

from __future__ import annotations
