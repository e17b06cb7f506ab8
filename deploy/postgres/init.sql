-- What a superuser makes once, on an empty server of PostgreSQL 16 or later, with psql 14 or later: logins, roles and databases. psql runs it (the image of PostgreSQL does so, with
-- the passwords from its environment); `slowwave migrate` then makes the tables as memory_owner, which may create no roles.
\set ON_ERROR_STOP on
\getenv owner_password MEMORY_OWNER_PASSWORD
\getenv writer_password MEMORY_WRITER_PASSWORD
\getenv dagster_password DAGSTER_PASSWORD

CREATE ROLE memory_owner LOGIN PASSWORD :'owner_password';
CREATE ROLE memory_writer LOGIN PASSWORD :'writer_password';
CREATE ROLE dagster LOGIN PASSWORD :'dagster_password';

CREATE ROLE slowwave_reader NOLOGIN;
CREATE ROLE slowwave_planner NOLOGIN;
CREATE ROLE slowwave_approver NOLOGIN;
CREATE ROLE slowwave_applier NOLOGIN;
CREATE ROLE slowwave_server NOLOGIN;
CREATE ROLE slowwave_recorder NOLOGIN;
GRANT slowwave_reader, slowwave_planner, slowwave_approver, slowwave_applier, slowwave_server, slowwave_recorder TO memory_owner
  WITH INHERIT TRUE, SET TRUE;
GRANT slowwave_applier TO memory_writer;
GRANT pg_read_all_stats TO slowwave_applier; -- an apply waits for replicas, which it cannot see without this

CREATE DATABASE dagster OWNER dagster;
REVOKE ALL ON DATABASE dagster FROM PUBLIC;
CREATE DATABASE memory OWNER memory_owner;
\connect memory
CREATE EXTENSION vector;
