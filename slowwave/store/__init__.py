"""Where memory lives: the catalogue of tables, migrations, roles, the embedded server, export and digest."""

from __future__ import annotations
