"""Whether a web server of ours answers."""

from __future__ import annotations

import urllib.request

# A proxy for the outside world must not be asked for this machine's own addresses.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(address: str) -> bool:
    try:
        with DIRECT.open(f"{address}/healthz", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False
