"""An app's two entry points, imported from its folder."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from workers.errors import TributaryError


def import_pair(folder: Path, serverapp: str, clientapp: str) -> tuple[ServerApp, ClientApp]:
    """The ServerApp and the ClientApp of the app in that folder."""
    add_to_path(folder)
    server: ServerApp = load_object(serverapp, ServerApp, "serverapp")
    client: ClientApp = load_object(clientapp, ClientApp, "clientapp")
    return server, client


def load_client_app(folder: Path, clientapp: str) -> ClientApp:
    add_to_path(folder)
    client: ClientApp = load_object(clientapp, ClientApp, "clientapp")
    return client


def add_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def load_object(reference: str, kind: type, role: str) -> Any:
    """`package.module:name`; whatever the app's own code raises when it is imported is the reason."""
    module, _, name = reference.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise TributaryError(
            f"The app's {role} cannot be imported: {error}. Add what is missing to its dependencies, or install it."
        ) from error
    except (Exception, SystemExit) as error:
        raise TributaryError(f"The app's {role} cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(found, kind):
        raise TributaryError(f"{reference} is a {type(found).__name__}; the app's {role} must be a {kind.__name__}.")
    return found
