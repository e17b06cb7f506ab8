"""``slowwave serve``, ``mcp``, ``tokens``, ``metrics`` and ``review``: programs that run until Ctrl-C."""

from __future__ import annotations

import logging
import socket
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final

import psycopg
import typer
from rich.text import Text

from slowwave.errors import Refused, SlowwaveError, StoreError
from slowwave.store import server
from slowwave.store.connect import Store
from slowwave.store.migrate import open_store as open_ready_store
from slowwave.surfaces.cli.session import (
    Json,
    Namespace,
    OneNamespace,
    complete_namespace,
    err,
    has_review_packages,
    open_store,
    out,
    own_name,
    say,
    show_json,
    show_table,
    suggest,
)

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Metric

    from slowwave.plans.status import StoreStatus


# ``slowwave serve`` and ``slowwave mcp``: memory for agents, over HTTP and MCP.


def serve(
    namespace: Annotated[
        str | None,
        typer.Argument(
            metavar="NAMESPACE",
            help="Only this namespace; needed if there are no tokens.",
            autocompletion=complete_namespace,
        ),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on. Addresses other than loopback need tokens.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.")] = 7070,
    rate: Annotated[float, typer.Option(min=0, help="Maximum requests per second of one token; 0 sets no limit.")] = 50,
    max_bytes: Annotated[int, typer.Option(min=1024, help="Maximum bytes of a request.")] = 262_144,
) -> None:
    """Serve memory to agents over HTTP and MCP until Ctrl-C.

    HTTP is under /v1 and MCP under /mcp.
    """
    store = _store()
    from slowwave.wiki.serving import http_app

    with store.connect("server") as connection:
        door = http_app.door_of(connection, host, namespace, rate, max_bytes)
    bound = http_app.listener(host, port)
    shown = f"[{host}]" if ":" in host else host
    who = f"{door.open_to}, without tokens" if door.open_to else "with tokens"
    say(f"Serving {who} at http://{shown}:{bound.getsockname()[1]} (MCP at /mcp). Ctrl-C ends it.", console=err)
    http_app.serve(store, door, bound)


def mcp(namespace: Namespace) -> None:
    """Serve one namespace to one agent over standard input and MCP."""
    store = _store()
    import os

    import anyio

    from slowwave.wiki.serving.answering import Answering
    from slowwave.wiki.serving.http_app import keep_quiet
    from slowwave.wiki.serving.mcp_server import serve_stdio
    from slowwave.wiki.serving.tokens import local_caller

    with store.connect("server") as connection:
        caller = local_caller(connection, namespace, os.environ.get("SLOWWAVE_TOKEN", "").strip())
    keep_quiet()
    anyio.run(serve_stdio, Answering(store), caller)


def _store() -> Store:
    """Open the store with a login that need not own it; only the embedded one is migrated here."""
    if find_spec("mcp") is None:
        raise StoreError("The packages that serve agents are not installed. Install slowwave[serve].")
    store = Store.from_environment()
    return open_ready_store() if store.embedded else store


# ``slowwave tokens``: make, list and revoke the tokens with which agents connect.

app = typer.Typer(help="Make new tokens of agents; list and revoke them.", no_args_is_help=True)


@app.command("new")
def new(
    namespace: Namespace,
    scopes: Annotated[
        str, typer.Option(help="read, write, propose, approve or night, separated by commas.")
    ] = "read,write",
    expires: Annotated[str, typer.Option(help="Lifetime, such as 90d or 12h.")] = "90d",
    name: Annotated[str, typer.Option(help="Name of its owner, for the list.")] = "",
    json: Json = False,
) -> None:
    """Create a token and print it once.

    Only its hash is stored.
    """
    from slowwave.wiki.serving.tokens import lifetime_of, new_token

    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    with open_store().connect("owner") as connection:
        token = new_token(connection, namespace, wanted, lifetime_of(expires), name)
    if json:
        show_json({"token": token, "id": token.split("_")[1], "namespace": namespace, "scopes": wanted})
        return
    out.print(token, markup=False, highlight=False, soft_wrap=True)


@app.command("list")
def list_tokens(namespace: OneNamespace = None, json: Json = False) -> None:
    """List tokens with their scopes and expiry.

    Secrets are never shown.
    """
    from slowwave.wiki.serving.tokens import left, listed

    with open_store().connect("owner") as connection:
        rows = listed(connection, namespace)
    if json:
        show_json([asdict(row) for row in rows])
        return
    shown = [(row.id, row.namespace, row.name, ",".join(row.scopes), left(row)) for row in rows]
    show_table("Tokens", ("id", "namespace", "name", "scopes", "validity"), shown, first="tokens new NAMESPACE")


@app.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(help="Id of the token: the 12 digits after slw_.")], json: Json = False
) -> None:
    """Revoke a token at once.

    A running server no longer accepts it.
    """
    from slowwave.wiki.serving.tokens import revoke

    with open_store().connect("owner") as connection:
        row = revoke(connection, token)
    if json:
        show_json({"id": row.id, "namespace": row.namespace, "revoked": True})
        return
    say(f"The token {row.id} of {row.namespace} is revoked.")


# ``slowwave metrics``: Prometheus metrics, read from the run tables on every scrape.
#
# Runs are short-lived processes, so nothing is counted in them: the ledger also covers runs that crashed, are pending or were started
# elsewhere. Measurements inside a run go to OpenTelemetry (``slowwave.night.sinks``).

_LOG: Final = logging.getLogger(__name__)
_HOUR, _DAY = 3600, 86_400
_BUCKETS: Final = (_HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 3 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY)


def metrics(
    port: Annotated[int, typer.Option(help="Port to serve on.")] = 9464,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    once: Annotated[bool, typer.Option("--once", help="Print the metrics and end.")] = False,
) -> None:
    """Serve Prometheus metrics of all namespaces.

    They are at /metrics until Ctrl-C; --once prints them.
    """
    from prometheus_client import generate_latest, start_http_server

    store = Store.from_environment()
    # With an external database, a login that may read is enough.
    registry = registry_of(open_store() if store.embedded else store)
    if once:
        sys.stdout.write(generate_latest(registry).decode())
        return
    try:
        server, thread = start_http_server(port, host, registry)
    except (OSError, OverflowError):
        raise StoreError(
            f"{host}:{port} cannot be listened on: it is in use, or no address of this machine. Choose another --port or --host."
        ) from None
    out.print(f"Metrics at http://{host}:{port}/metrics. Ctrl-C ends it.")
    try:
        thread.join()
    except KeyboardInterrupt:
        server.shutdown()
    finally:
        server.server_close()


def registry_of(store: Store) -> CollectorRegistry:
    """Return a registry whose metrics are read from ``store`` at every scrape, without metrics of this process."""
    from prometheus_client import CollectorRegistry

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Ledger(store))
    return registry


class _Ledger:
    """Collector that reads the ledger once per scrape; a failed scrape yields ``slowwave_up 0`` and is counted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._errors = 0

    def describe(self) -> Sequence[Metric]:
        """Return no metrics, because none is known before the ledger is read."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all metrics at one instant."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        from slowwave.plans.status import read_status

        began, found = time.perf_counter(), None
        try:
            found = read_status(self._store)
        except (psycopg.Error, SlowwaveError) as problem:
            self._errors += 1
            _LOG.warning("The ledger could not be read for metrics: %s.", type(problem).__name__)
        yield GaugeMetricFamily("slowwave_up", "Whether the ledger could be read.", float(found is not None))
        yield CounterMetricFamily("slowwave_scrape_errors", "Scrapes that could not read the ledger.", self._errors)
        yield _labelled(
            "gauge", "slowwave_build_info", "The version that is asked.", ("version",), {(version("slowwave"),): 1}
        )
        if found is not None:
            yield from _families(found)
        took = time.perf_counter() - began
        yield GaugeMetricFamily("slowwave_scrape_duration_seconds", "How long reading the ledger took.", took)


def _families(now: StoreStatus) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    from slowwave.plans.switches import apply_disabled

    for name, text, value in (
        ("namespaces", "Namespaces.", now.namespaces),
        ("namespaces_read_only", "Namespaces that are never written.", now.read_only),
        ("plans_waiting", "Plans that wait for approval.", now.plans_waiting),
        ("plans_waiting_oldest_age_seconds", "Age of the oldest of them, 0 when there is none.", now.oldest_plan),
        ("approvals_waiting", "Approvals that are not applied yet.", now.approvals_waiting),
        (
            "approvals_waiting_oldest_age_seconds",
            "Age of the oldest of them, 0 when there is none.",
            now.oldest_approval,
        ),
        ("conflicts_open", "Contradictions that nobody has resolved.", now.conflicts_open),
    ):
        yield GaugeMetricFamily(f"slowwave_{name}", text, value)
    yield _histogram("slowwave_night_age_seconds", "Namespaces by the age of their last successful night.", now.nights)
    yield _histogram("slowwave_apply_age_seconds", "Namespaces by the age of their last finished apply.", now.applies)
    yield _histogram(
        "slowwave_unplanned_change_age_seconds",
        "Namespaces with changes that no night has seen, by the age of the oldest.",
        now.unplanned,
    )
    outcomes = {(outcome,): count for outcome, count in now.items.items()}
    yield _labelled("counter", "slowwave_items", "Items by what became of them.", ("outcome",), outcomes)
    yield _labelled("gauge", "slowwave_runs", "Runs in the ledger.", ("mode", "state"), now.runs)
    stuck = {(mode,): count for mode, count in now.stuck.items()}
    yield _labelled("gauge", "slowwave_runs_stuck", "Runs whose heartbeat has expired.", ("mode",), stuck)
    text = "Tokens that models cost in the last 24 hours."
    yield _labelled("gauge", "slowwave_llm_tokens_last_day", text, ("model", "direction"), now.tokens)
    switches = {("environment",): int(bool(apply_disabled())), ("database",): int(now.apply_disabled)}
    yield _labelled("gauge", "slowwave_apply_disabled", "Whether a kill switch is set.", ("switch",), switches)


def _labelled(
    kind: str, name: str, text: str, labels: tuple[str, ...], values: Mapping[tuple[str, ...], int]
) -> Metric:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    family = (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(name, text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family


def _histogram(name: str, text: str, ages: Sequence[float]) -> Metric:
    """Build a histogram of ages; the buckets are those of nights, not of requests."""
    from prometheus_client.core import HistogramMetricFamily

    buckets = [(str(float(limit)), float(sum(age <= limit for age in ages))) for limit in _BUCKETS]
    return HistogramMetricFamily(name, text, [*buckets, ("+Inf", float(len(ages)))], sum(ages))


# ``slowwave review``: the review page, for a person at this machine or for people whom a proxy logs in.

PORT: Final = 4600


def review(
    namespace: OneNamespace = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="NAME",
            help="Your name; it is recorded with drafts and approvals. Not behind a proxy.",
            callback=own_name,
        ),
    ] = "",
    port: Annotated[
        int | None, typer.Option(help=f"Port to listen on, by default {PORT}; 0 takes a free one.", show_default=False)
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other addresses than loopback need a proxy that logs people in.")
    ] = ("127.0.0.1"),
    user_header: Annotated[str, typer.Option(help="Header in which the proxy names the user.")] = "",
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="IP address of the proxy; may be repeated. The header is ignored from other addresses."),
    ] = None,
    origin: Annotated[
        str,
        typer.Option(
            help="Address of the page in browsers, behind a proxy or, with --by, a container port published on loopback."
        ),
    ] = "",
    link: Annotated[
        bool,
        typer.Option(
            "--link",
            help="Print another link to the running page, for example for a browser over ssh; start no page.",
        ),
    ] = False,
) -> None:
    """Review plans in a browser: answer, approve, apply, undo."""
    if link:
        _another_link(port)
        return
    if not has_review_packages():
        raise StoreError("The packages of the review page are not installed. Install slowwave[serve].")
    from slowwave.surfaces.review_page.app import review_app
    from slowwave.surfaces.review_page.guard import entrance_of, noted
    from slowwave.wiki.serving.http_app import answer

    proxied = bool(user_header or proxy or (origin and not by))
    if not (by or proxied):
        raise Refused("Drafts and approvals are recorded with your name: give it with --by NAME. Nothing was served.")
    with _listener(host, PORT if port is None else port) as bound:
        taken = int(bound.getsockname()[1])
        entrance = entrance_of(host, taken, reviewer=by, user_header=user_header, proxies=proxy or (), origin=origin)
        app = review_app(open_store(), entrance, namespace)
        if proxied:
            say(f"The review page is behind the proxy at {entrance.origins[0]}. Ctrl-C ends it.", console=err)
        else:
            suggest("Open this link: it lets you in, once. Ctrl-C ends the page", entrance.link())
            out.file.flush()  # a program that reads the link from a pipe needs it at once
        with noted(server.default_home(), entrance):
            answer(app, bound)


def _listener(host: str, port: int) -> socket.socket:
    """Open a socket for the page.

    If a page of this account already has the port, the error names the command that prints a link to it.
    """
    from slowwave.surfaces.review_page.guard import running_page
    from slowwave.wiki.serving.http_app import listener

    try:
        return listener(host, port)
    except StoreError:
        with suppress(Refused):
            page = running_page(server.default_home(), port)
            raise StoreError(
                f"The review page of {page.reviewer} runs at port {port}. `slowwave review --link --port {port}` prints a link to it; "
                "--port 0 starts another page."
            ) from None
        raise


def _another_link(port: int | None) -> None:
    """Print the link alone on standard output, and on standard error how to reach it from another machine."""
    from slowwave.surfaces.review_page.guard import GRANT_SECONDS, running_page

    page = running_page(server.default_home(), port)
    say(
        f"It lets {page.reviewer} in, once, within {GRANT_SECONDS // 60} minutes. From another machine, first:",
        console=err,
    )
    err.print(Text(f"  ssh -L {page.port}:127.0.0.1:{page.port} THIS-MACHINE"))
    sys.stdout.write(f"{page.link()}\n")
