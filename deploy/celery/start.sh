#!/bin/sh
# Slowwave on Celery without Docker. In a checkout with '.[celery,dagster,minilm,s3,serve]' installed, at the same path on all machines:
#
#   deploy/celery/start.sh all             everything on this machine, with two workers; Ctrl-C ends it
#   deploy/celery/start.sh worker [NAME]   a worker, on another machine; also: broker, migrate, code, daemon, web
#
# docs/scale.md lists the variables.
set -eu
cd "$(dirname "$0")/../.."

: "${SLOWWAVE_DATABASE_URL:?postgresql://…, the store}" "${SLOWWAVE_DAGSTER_URL:?postgresql+psycopg2://…, the database of Dagster}"
: "${SLOWWAVE_HOME:?a folder of this machine}" "${SLOWWAVE_SNAPSHOTS:?the storage that all machines share}"
export BROKER_PORT="${BROKER_PORT:-6379}" CODE_HOST="${CODE_HOST:-127.0.0.1}" CODE_PORT="${CODE_PORT:-4000}" WEB_PORT="${WEB_PORT:-3000}"
export CELERY_BROKER_URL="${CELERY_BROKER_URL:-redis://127.0.0.1:$BROKER_PORT/0}"
export CELERY_RESULT_BACKEND="${CELERY_RESULT_BACKEND:-redis://127.0.0.1:$BROKER_PORT/1}"
export SLOWWAVE_EMBEDDING_MODEL="${SLOWWAVE_EMBEDDING_MODEL:-all-minilm-l6-v2-int8}" # a worker without it refuses to plan
export DAGSTER_HOME="$SLOWWAVE_HOME/dagster" DAGSTER_DISABLE_TELEMETRY=1
[ ! -d .venv/bin ] || PATH="$PWD/.venv/bin:$PATH"
mkdir -p "$DAGSTER_HOME" "$SLOWWAVE_HOME/broker"
for program in celery dagster slowwave; do
  command -v "$program" >/dev/null || { echo "There is no program $program. Install '.[celery,dagster,minilm,s3,serve]' into .venv." >&2; exit 1; }
done
cp "${DAGSTER_SETTINGS:-deploy/celery/dagster.yaml}" "$DAGSTER_HOME/dagster.yaml"

case "${1:-}" in
  broker) # its tasks and results survive a restart; without them Dagster would fail and retry runs that are under way
    exec redis-server --bind "${BROKER_BIND:-127.0.0.1}" --port "$BROKER_PORT" --requirepass "${BROKER_PASSWORD:-}" --dir "$SLOWWAVE_HOME/broker" --appendonly yes --save '' ;;
  migrate)
    slowwave migrate
    exec dagster instance migrate ;;
  code) # two could share the port, and answer in turn with two versions
    if dagster api grpc-health-check --host "$CODE_HOST" --port "$CODE_PORT" >/dev/null 2>&1; then
      echo "A code server answers at port $CODE_PORT already. End it first, or set CODE_PORT." >&2; exit 1
    fi
    exec dagster api grpc --host "${CODE_BIND:-127.0.0.1}" --port "$CODE_PORT" --module-name "${CODE_MODULE:-memory_assets.definitions}" \
      --working-directory "$PWD" ;;
  daemon)
    exec dagster-daemon run -w deploy/celery/workspace.yaml ;;
  web)
    exec dagster-webserver -h 127.0.0.1 -p "$WEB_PORT" -w deploy/celery/workspace.yaml ;;
  worker) # a process for each run, forked with the engine loaded; a run is fetched only when a process is free
    exec celery -A dagster_celery.app worker -Q dagster -n "${2:-worker}@%h" --loglevel INFO --include slowwave.night.preloaded \
      --concurrency "${WORKER_RUNS:-2}" --max-tasks-per-child 1 --prefetch-multiplier 1 --disable-prefetch ;;
  all)
    trap 'trap - INT TERM EXIT; kill 0' INT TERM EXIT
    start() { env --default-signal=INT,QUIT "$0" "$@" & } # a shell lets its background programs ignore these
    start broker
    "$0" migrate
    start code
    start worker one
    start worker two
    until dagster api grpc-health-check --host "$CODE_HOST" --port "$CODE_PORT" >/dev/null 2>&1; do sleep 1; done
    start daemon
    start web
    wait ;;
  *)
    sed -n '2,7s/^# \{0,1\}//p' "$0"
    exit 2 ;;
esac
