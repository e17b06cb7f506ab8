"""Where memory lives: the catalogue of tables, migrations, roles, the embedded server, export and digest."""
