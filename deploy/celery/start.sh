#!/bin/sh
# Slowwave on Celery without Docker. In a checkout in which `pip install '.[celery,dagster,minilm,serve]'` ran:
#
#   deploy/celery/start.sh all             everything on this machine, with two workers; Ctrl-C ends it
#   deploy/celery/start.sh worker [NAME]   a worker, on another machine; also: broker, migrate, code, daemon, web
#
# Variables, equal on all machines: SLOWWAVE_DATABASE_URL, SLOWWAVE_DAGSTER_URL, SLOWWAVE_SNAPSHOTS (a folder that all of them share, or an
# object store), CELERY_BROKER_URL, CELERY_RESULT_BACKEND, SLOWWAVE_CODE_HOST, SLOWWAVE_CONCURRENT_RUNS (two for each worker). Each machine
# has a SLOWWAVE_HOME of its own.
set -eu
cd "$(dirname "$0")/../.."

: "${SLOWWAVE_DATABASE_URL:?postgresql://…, the store}" "${SLOWWAVE_DAGSTER_URL:?postgresql+psycopg2://…, a database of Dagster}"
: "${SLOWWAVE_HOME:?a folder of this machine}" "${SLOWWAVE_SNAPSHOTS:?storage that all machines share}"
export CELERY_BROKER_URL="${CELERY_BROKER_URL:-redis://127.0.0.1:6379/0}"
export CELERY_RESULT_BACKEND="${CELERY_RESULT_BACKEND:-redis://127.0.0.1:6379/1}"
export SLOWWAVE_CODE_HOST="${SLOWWAVE_CODE_HOST:-127.0.0.1}" SLOWWAVE_CONCURRENT_RUNS="${SLOWWAVE_CONCURRENT_RUNS:-4}"
export DAGSTER_HOME="$SLOWWAVE_HOME/dagster" DAGSTER_DISABLE_TELEMETRY=1
[ ! -d .venv/bin ] || PATH="$PWD/.venv/bin:$PATH"
mkdir -p "$DAGSTER_HOME" "$SLOWWAVE_HOME/redis"
cp deploy/celery/dagster.yaml "$DAGSTER_HOME/dagster.yaml"

case "${1:-}" in
  broker) # what it holds survives a restart: without that, runs whose tasks it forgot would be failed and retried
    exec redis-server --bind 127.0.0.1 --port 6379 --dir "$SLOWWAVE_HOME/redis" --appendonly yes --save '' ;;
  migrate)
    slowwave migrate
    exec dagster instance migrate ;;
  code)
    exec dagster api grpc --host 0.0.0.0 --port 4000 --module-name memory_assets.definitions --working-directory "$PWD" ;;
  daemon)
    exec dagster-daemon run -w deploy/celery/workspace.yaml ;;
  web)
    exec dagster-webserver -h 127.0.0.1 -p 3000 -w deploy/celery/workspace.yaml ;;
  worker) # a process for each run; no task is fetched before one of the two is free
    exec celery -A dagster_celery.app worker -Q dagster -n "${2:-worker}@%h" --loglevel INFO \
      --concurrency 2 --max-tasks-per-child 1 --prefetch-multiplier 1 --disable-prefetch ;;
  all)
    trap 'kill 0' INT TERM EXIT
    "$0" broker &
    "$0" migrate
    "$0" code &
    "$0" worker one &
    "$0" worker two &
    until dagster api grpc-health-check --port 4000 2>/dev/null; do sleep 1; done
    "$0" daemon &
    "$0" web &
    wait ;;
  *)
    sed -n '2,9s/^# \{0,1\}//p' "$0"
    exit 2 ;;
esac
