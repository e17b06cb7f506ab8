"""Addresses of databases as people give them: checked before anything is done with them, and never repeated in a message.

What stands in an address may be a password, or a part of one that was not percent-encoded, so a refusal names the variable, says what is
wrong with its form and shows none of it. Connecting belongs to ``slowwave.store.connect``.
"""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from slowwave.errors import StoreError

_FORM: Final = "It reads like postgresql://user:password@host:5432/database."
_ENCODE: Final = "Write @ : / ? # and % in a user's name or a password as %40 %3A %2F %3F %23 and %25."
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_NAME: Final = re.compile(r"[^\s@/:?#\[\]]*")


def checked(variable: str, address: str) -> str:
    """An address for psycopg, without SQLAlchemy's driver in its scheme; ``variable`` is where it comes from.

    Raises ``StoreError`` for another scheme than PostgreSQL's, and for what libpq does not read, or reads otherwise than it was meant.
    """
    address = address.strip()
    scheme = _SCHEME.match(address)
    if scheme:
        if not re.fullmatch(r"postgres(ql)?(\+\w+)?", scheme[1].lower()):
            raise StoreError(f"{variable} does not lead to PostgreSQL: its scheme is another one. {_FORM}")
        address = f"postgresql://{address[scheme.end() :]}"
    elif "=" not in address:
        raise StoreError(f"{variable} is not an address. {_FORM}")
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        raise StoreError(f"{variable} cannot be read as an address. {_FORM} {_ENCODE}") from None
    ports = str(parts.get("port") or "5432").split(",")
    if not all(re.fullmatch("[0-9]{1,5}", port) and 0 < int(port) < 65536 for port in ports):
        raise StoreError(f"{variable} names no port between 1 and 65535. {_FORM} {_ENCODE}")
    hosts = str(parts.get("host") or "").split(",")
    if not all(_is_host(host) for host in hosts) or (scheme and re.search("[@/]", str(parts.get("dbname") or ""))):
        raise StoreError(f"{variable} names no host and database that there can be. {_FORM} {_ENCODE}")
    return address


def _is_host(name: str) -> bool:
    """A name, a number of version 4 or 6, or the folder of a socket."""
    return (name.startswith("/") and "@" not in name) or bool(
        _NAME.fullmatch(name) or re.fullmatch(r"[0-9A-Fa-f:.]+(%\w+)?", name)
    )
