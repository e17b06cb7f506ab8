# syntax=docker/dockerfile:1
# One image for every process of Slowwave: web, daemon, code server, command line. compose.yaml starts them; docs/install.md says how.
# Python is the version that constraints.txt is made for, so that an image built again has the same packages.

FROM python:3.11-slim-trixie AS build
RUN python -m venv /opt/slowwave
WORKDIR /src
# More extras than compose.yaml needs, such as ",kubernetes,s3": docker build --build-arg MORE_EXTRAS=,kubernetes,s3
ARG MORE_EXTRAS=
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY dbt_like_sql dbt_like_sql
COPY slowwave slowwave
RUN --mount=type=cache,target=/root/.cache/pip \
    /opt/slowwave/bin/pip install --disable-pip-version-check -c constraints.txt ".[celery,dagster,languages,minilm,models,otel,openlineage,serve${MORE_EXTRAS}]"

FROM python:3.11-slim-trixie
# git commits the pages of a workspace (SLOWWAVE_PAGES_GIT). Debian's mirrors keep one version of it, so a pinned one would not build.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home --home-dir /var/lib/slowwave slowwave \
    && install -d -o slowwave -g slowwave -m 0700 /var/lib/slowwave /var/lib/dagster/storage

COPY --from=build /opt/slowwave /opt/slowwave
# The wheel holds the library; the Dagster project runs from the checkout's rooms, which the code server imports from here.
WORKDIR /app
COPY workspace.yaml ./
COPY dbt_like_sql dbt_like_sql
COPY jobs jobs
COPY memory_assets memory_assets
COPY resources resources
COPY sensors sensors
COPY deploy/workspace.yaml deploy/
COPY deploy/dagster.yaml /var/lib/dagster/
RUN python -m compileall -q .

ENV PATH=/opt/slowwave/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ARROW_DEFAULT_MEMORY_POOL=system \
    MALLOC_ARENA_MAX=1 \
    SLOWWAVE_HOME=/var/lib/slowwave \
    DAGSTER_HOME=/var/lib/dagster \
    DAGSTER_DISABLE_TELEMETRY=1
VOLUME ["/var/lib/slowwave", "/var/lib/dagster/storage"]
USER 10001:10001
EXPOSE 3000 4600 7070
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:3000/server_info', timeout=4)"]
CMD ["dagster-webserver", "-h", "0.0.0.0", "-p", "3000", "-w", "workspace.yaml"]
