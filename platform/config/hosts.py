"""The names under which browsers may ask for this server."""

from __future__ import annotations

import socket

LOCAL = ["localhost", "127.0.0.1", "[::1]"]
EVERYWHERE = {"0.0.0.0", "::"}


def allowed_hosts(host: str) -> list[str]:
    """Listening everywhere means being called by any of this machine's names and addresses."""
    return [*LOCAL, *(own_names() if host in EVERYWHERE else [host] if host not in LOCAL else [])]


def own_names() -> list[str]:
    name = socket.gethostname()
    try:
        addresses = sorted({str(found[4][0]) for found in socket.getaddrinfo(name, None)})
    except OSError:
        addresses = []
    bracketed = [f"[{address}]" if ":" in address else address for address in addresses]
    return list(dict.fromkeys([name, socket.getfqdn(), *bracketed]))
