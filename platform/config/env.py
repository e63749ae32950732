"""Every environment variable Tributary reads, with its type, default and meaning.

A malformed value is refused with one line that names the variable and says what it wants.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlsplit

from workers.errors import TributaryError

Value = TypeVar("Value")
ROOT = Path(__file__).resolve().parents[2]


class SettingError(TributaryError):
    """An environment variable that cannot be read as what it should be."""


class MalformedError(ValueError):
    """What a parser raises: the text completes "PORT must be ..."."""


@dataclass(frozen=True)
class Variable(Generic[Value]):
    name: str
    parse: Callable[[str], Value]
    default: str
    meaning: str
    shown_default: str = ""

    def read(self, environ: Mapping[str, str] | None = None) -> Value:
        """The value, or its default where the variable is unset or empty."""
        text = (os.environ if environ is None else environ).get(self.name, "").strip()
        try:
            return self.parse(text or self.default)
        except MalformedError as error:
            value = "its value (not shown)" if self.name in SECRET_VARIABLES else repr(text)
            raise SettingError(f"{self.name} must be {error}, but is {value}.") from None


SECRET_VARIABLES = {
    "SECRET_KEY",
    "DATABASE_URL",
    "REDIS_URL",
    "TRIBUTARY_ADMIN_PASSWORD",
    "TRIBUTARY_OIDC_CLIENT_SECRET",
    "TRIBUTARY_STORE",
}


def parse_text(value: str) -> str:
    return value


def parse_flag(value: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if value.lower() not in words:
        raise MalformedError("1 or 0 (or true, false, yes, no, on, off)")
    return words[value.lower()]


def parse_log_style(value: str) -> str:
    if value not in ("text", "json"):
        raise MalformedError("text or json")
    return value


def integer_parser(low: int, high: int) -> Callable[[str], int]:
    def parse(value: str) -> int:
        if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
            raise MalformedError(f"a whole number from {low} to {high}")
        return int(value)

    return parse


def optional_integer_parser(low: int, high: int) -> Callable[[str], int | None]:
    return lambda value: integer_parser(low, high)(value) if value else None


def parse_folder(value: str) -> Path:
    """A relative folder counts from the project, so that every command finds the same one."""
    path = Path(value).expanduser()
    return path if path.is_absolute() else ROOT / path


def parse_folders(value: str) -> list[Path]:
    folders = [Path(each) for each in value.split(os.pathsep) if each.strip()]
    if any(not folder.is_absolute() for folder in folders):
        raise MalformedError(f"whole paths, from / on, separated by {os.pathsep}")
    return folders


def parse_store(value: str) -> str:
    """What fsspec makes of an address is told when the store is opened: its packages are not all here."""
    scheme, mark, place = value.partition("://")
    if value and not (scheme.isidentifier() and place if mark else value.startswith(("/", "~"))):
        raise MalformedError("the whole path of a folder, or an address such as s3://bucket/lab")
    return value


def parse_host(value: str) -> str:
    if not value or any(character in value for character in "/ @?#") or "://" in value:
        raise MalformedError("a host name or an IP address, such as 127.0.0.1 or 0.0.0.0")
    return value


def parse_names(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


def parse_origins(value: str) -> list[str]:
    addresses = parse_names(value)
    if any(urlsplit(origin).scheme not in ("http", "https") or not urlsplit(origin).netloc for origin in addresses):
        raise MalformedError("addresses with http:// or https://, separated by commas")
    return addresses


def parse_networks(value: str) -> list[str]:
    """As uvicorn reads them; a word that it would take for the name of a host is refused."""
    try:
        return [str(ip_network(each)) if "/" in each else str(ip_address(each)) for each in parse_names(value)]
    except ValueError:
        raise MalformedError("IP addresses or networks, such as 127.0.0.1 or 10.0.0.0/8, separated by commas") from None


def parse_origin(value: str) -> str:
    if value and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).netloc):
        raise MalformedError("an address such as http://mirror.example.org/data")
    return value


def parse_issuer(value: str) -> str:
    """Over http only on this machine: whoever is between could be anybody otherwise."""
    parts = urlsplit(value)
    secure = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1"))
    if value and not (secure and parts.netloc and not parts.query and not parts.fragment):
        raise MalformedError("an address with https://, such as https://id.example.org/realms/lab")
    return value.rstrip("/")


ROLE_NAMES = ("viewer", "member", "admin")


def parse_group_roles(value: str) -> dict[str, str]:
    """Groups may have spaces, slashes and colons in their names; the last `=` ends them."""
    pairs = [(group.strip(), role.strip()) for group, _, role in (each.rpartition("=") for each in parse_names(value))]
    if any(not group or role not in ROLE_NAMES for group, role in pairs) or len(dict(pairs)) != len(pairs):
        raise MalformedError("groups with a role each (viewer, member, admin), such as lab=member,lab-admins=admin")
    return dict(pairs)


def parse_default_role(value: str) -> str:
    if value not in ("none", "viewer", "member"):
        raise MalformedError("none, viewer or member")
    return value


def parse_database_url(value: str) -> str:
    """A server on another machine, or one that is reached by a Unix socket in the folder `?host=/...`."""
    example = "postgresql://user:password@host:5432/name"
    return check_address(value, example, ("postgres", "postgresql"), folder_in_query)


def parse_redis_url(value: str) -> str:
    example = "redis://:password@host:6379/0"
    return check_address(value, example, ("redis", "rediss", "unix"), is_unix_path)


def folder_in_query(parts: SplitResult) -> bool:
    return dict(parse_qsl(parts.query)).get("host", "").startswith("/")


def is_unix_path(parts: SplitResult) -> bool:
    return parts.scheme == "unix" and bool(parts.path)


def check_address(
    value: str, example: str, schemes: tuple[str, ...], names_socket: Callable[[SplitResult], bool]
) -> str:
    malformed = MalformedError(f"an address such as {example}")
    try:
        parts = urlsplit(value)
        place = parts.scheme in schemes and (parts.hostname or names_socket(parts)) and (parts.port or 1) > 0
    except ValueError:
        raise malformed from None
    if value and not place:
        raise malformed
    return value


@dataclass(frozen=True)
class Listen:
    host: str
    port: int


def parse_listen(value: str) -> Listen | None:
    if not value:
        return None
    host, _, port = value.rpartition(":")
    try:
        return Listen(parse_host(host.strip("[]")), integer_parser(1, 65535)(port))
    except MalformedError:
        raise MalformedError("an address of this machine and a port, such as 10.0.0.5:5432") from None


def parse_secret_key(value: str) -> str:
    if value and len(value) < 32:
        raise MalformedError("at least 32 characters of randomness")
    return value


HOME = Variable("TRIBUTARY_HOME", parse_folder, ".tributary", "Folder for all data, logs and secrets")
STORE = Variable(
    "TRIBUTARY_STORE",
    parse_store,
    "",
    "Where files go that other machines need: a folder, or any address that fsspec knows, such as s3://bucket/lab "
    "([docs/operations.md](docs/operations.md))",
    "TRIBUTARY_HOME",
)
STORE_CACHE = Variable(
    "TRIBUTARY_STORE_CACHE",
    integer_parser(0, 1_000_000_000),
    "20000",
    "Room for copies of the store's files that were read here, in MB; those read longest ago go first",
)
HOST = Variable("HOST", parse_host, "127.0.0.1", "Address the web server listens on; 0.0.0.0 serves the whole network")
PORT = Variable("PORT", integer_parser(1, 65535), "8000", "Port the web server listens on")
WORKERS = Variable(
    "WORKERS",
    optional_integer_parser(0, 512),
    "",
    "Runs computed at once",
    "TRIBUTARY_RUNS_PER_GPU per GPU, or one per CPU core without GPUs",
)
RUNS_PER_GPU = Variable(
    "TRIBUTARY_RUNS_PER_GPU",
    integer_parser(1, 64),
    "1",
    "Runs computed at once on each GPU, each by a worker of its own; all must fit into its memory",
)
DATABASE_URL = Variable(
    "DATABASE_URL",
    parse_database_url,
    "",
    "PostgreSQL to use instead of the embedded one",
    "embedded",
)
REDIS_URL = Variable(
    "REDIS_URL",
    parse_redis_url,
    "",
    "Redis to use instead of the embedded one",
    "embedded",
)
POSTGRES_LISTEN = Variable(
    "TRIBUTARY_POSTGRES_LISTEN",
    parse_listen,
    "",
    "Address and port at which the embedded PostgreSQL listens for workers on further machines",
    "a Unix socket only",
)
REDIS_LISTEN = Variable(
    "TRIBUTARY_REDIS_LISTEN",
    parse_listen,
    "",
    "Address and port at which the embedded Redis listens for workers on further machines",
    "a Unix socket only",
)
POSTGRES_CONNECTIONS = Variable(
    "TRIBUTARY_POSTGRES_CONNECTIONS",
    integer_parser(20, 10_000),
    "100",
    "Connections that the embedded PostgreSQL takes; `manage.py doctor` counts what the lab may need",
)
SECRET_KEY = Variable("SECRET_KEY", parse_secret_key, "", "Key that signs sessions", "random, kept in TRIBUTARY_HOME")
DEBUG = Variable("DEBUG", parse_flag, "0", "1 shows error pages with code; for development only")
ALLOWED_HOSTS = Variable(
    "ALLOWED_HOSTS",
    parse_names,
    "",
    "Host names people type, separated by commas",
    "HOST, this machine's names, localhost",
)
CSRF_TRUSTED_ORIGINS = Variable(
    "CSRF_TRUSTED_ORIGINS", parse_origins, "", "Addresses behind a proxy, such as https://lab.example.org", "none"
)
HTTPS = Variable("TRIBUTARY_HTTPS", parse_flag, "0", "1 when a proxy serves https: cookies then travel over https only")
TRUSTED_PROXIES = Variable(
    "TRIBUTARY_TRUSTED_PROXIES",
    parse_networks,
    "",
    "Addresses or networks of proxies whose X-Forwarded-For is believed, separated by commas",
    "none",
)
WEB_PROCESSES = Variable(
    "WEB_PROCESSES",
    integer_parser(1, 64),
    "1",
    "Web processes behind the one port; what is limited for all requests together is divided among them",
)
WEB_REQUESTS = Variable(
    "TRIBUTARY_WEB_REQUESTS",
    integer_parser(2, 1000),
    "32",
    "Requests answered at once by all web processes, each with a connection to PostgreSQL; others wait their turn",
)
ADMIN_PASSWORD = Variable(
    "TRIBUTARY_ADMIN_PASSWORD",
    parse_text,
    "",
    "Password of the user `admin` at the first start",
    "random, printed once",
)
PASSWORD_LOGIN = Variable(
    "TRIBUTARY_PASSWORD_LOGIN",
    parse_flag,
    "on",
    "off leaves sign-on with the OpenID Connect provider as the only way to log in",
)
OIDC_ISSUER = Variable(
    "TRIBUTARY_OIDC_ISSUER",
    parse_issuer,
    "",
    "Address of the OpenID Connect provider with whose accounts people log in ([docs/sign-on.md](docs/sign-on.md))",
    "none",
)
OIDC_NAME = Variable("TRIBUTARY_OIDC_NAME", parse_text, "single sign-on", "What the button calls the provider")
OIDC_CLIENT_ID = Variable(
    "TRIBUTARY_OIDC_CLIENT_ID", parse_text, "", "The name under which the provider knows this platform", "none"
)
OIDC_CLIENT_SECRET = Variable(
    "TRIBUTARY_OIDC_CLIENT_SECRET", parse_text, "", "The secret that the provider made for it", "none: a public client"
)
OIDC_SCOPES = Variable(
    "TRIBUTARY_OIDC_SCOPES", parse_text, "openid profile email", "What the provider is asked to tell"
)
OIDC_GROUPS_CLAIM = Variable(
    "TRIBUTARY_OIDC_GROUPS_CLAIM", parse_text, "groups", "The claim that has a person's groups; a dot goes deeper"
)
OIDC_GROUP_ROLES = Variable(
    "TRIBUTARY_OIDC_GROUP_ROLES",
    parse_group_roles,
    "",
    "The role of each group, as in `lab=member,lab-admins=admin`; the highest of a person's counts, at every log-in",
    "none: roles are given on the page People",
)
OIDC_DEFAULT_ROLE = Variable(
    "TRIBUTARY_OIDC_DEFAULT_ROLE",
    parse_default_role,
    "none",
    "Role of people of the provider without such a group: viewer, member, or none, which keeps them out",
)
TOUR = Variable("TRIBUTARY_TOUR", parse_flag, "1", "0 leaves out the small study that the first start queues")
MAX_RUNS = Variable(
    "TRIBUTARY_MAX_RUNS", integer_parser(1, 1_000_000), "10000", "Largest number of runs one study may have"
)
MAX_WAITING = Variable(
    "TRIBUTARY_MAX_WAITING",
    integer_parser(1, 10_000_000),
    "20000",
    "Largest number of runs one person may have waiting or running at once",
)
MIRROR = Variable(
    "TRIBUTARY_MIRROR",
    parse_origin,
    "",
    "Address that has the originals of data sets, instead of their publishers",
    "none",
)
PLUGINS = Variable(
    "TRIBUTARY_PLUGINS",
    parse_text,
    "",
    "Folders with a lab's own strategies and other components, separated by `:`",
    "none",
)
IMPORT_FOLDERS = Variable(
    "TRIBUTARY_IMPORT_FOLDERS",
    parse_folders,
    "",
    "Folders below which people may import data sets, separated by `:`; `imports` in TRIBUTARY_HOME is always one",
    "none",
)
MAX_UPLOAD = Variable(
    "TRIBUTARY_MAX_UPLOAD", integer_parser(1, 1_000_000), "1000", "Largest file an admin may upload, in MB"
)
RATE_READS = Variable(
    "TRIBUTARY_RATE_READS",
    integer_parser(0, 1_000_000),
    "1200",
    "REST reads a person may make in a minute; 0 is no limit",
)
RATE_WRITES = Variable(
    "TRIBUTARY_RATE_WRITES",
    integer_parser(0, 1_000_000),
    "120",
    "REST writes a person may make in a minute; 0 is no limit",
)
LEASE = Variable(
    "TRIBUTARY_LEASE",
    integer_parser(3, 3600),
    "30",
    "Seconds without a sign of a worker after which its run is given to another; the same for all processes",
)
LOGGED_SILENCE = Variable(
    "TRIBUTARY_LOGGED_SILENCE",
    integer_parser(60, 10_000_000),
    "86400",
    "Seconds without a word of a script that logs a run after which the run counts as failed; it may go on later",
)
RUN_SECONDS = Variable(
    "TRIBUTARY_RUN_SECONDS", integer_parser(0, 100_000_000), "0", "Longest time of one run, in seconds; 0 is no limit"
)
RUN_SILENCE = Variable(
    "TRIBUTARY_RUN_SILENCE",
    integer_parser(0, 100_000_000),
    "21600",
    "Longest time between two signs of a run (rounds, checkpoints), in seconds; 0 is no limit",
)
RUN_MEMORY = Variable(
    "TRIBUTARY_RUN_MEMORY",
    optional_integer_parser(0, 100_000_000),
    "",
    "Memory that one run may take, in MB; 0 is no limit",
    "nine tenths of the machine's or container's",
)
RUN_FILES = Variable(
    "TRIBUTARY_RUN_FILES",
    integer_parser(0, 100_000_000),
    "2000",
    "What a run of an app may write into its folder, in MB; 0 is no limit",
)
APPS = Variable("TRIBUTARY_APPS", parse_text, "", "Folders of Flower apps, separated by `:`", "none")
APP_UPLOADS = Variable("TRIBUTARY_APP_UPLOADS", parse_flag, "1", "Whether admins may upload Flower apps")
APP_INSTALL = Variable(
    "TRIBUTARY_APP_INSTALL",
    parse_flag,
    "0",
    "Whether an environment may be made for an app whose dependencies are not met here",
)
CHECKPOINT_SECONDS = Variable(
    "TRIBUTARY_CHECKPOINT_SECONDS",
    integer_parser(0, 86_400),
    "30",
    "Seconds between two checkpoints of a run; 0 saves every tenth round",
)
KEEP_CHECKPOINTS = Variable(
    "TRIBUTARY_KEEP_CHECKPOINTS",
    integer_parser(0, 36_500),
    "30",
    "Days after which checkpoints of failed and cancelled runs go; 0 keeps them",
)
KEEP_LOGS = Variable(
    "TRIBUTARY_KEEP_LOGS", integer_parser(0, 36_500), "365", "Days after which a run's log goes; 0 keeps it"
)
KEEP_CLIENTS = Variable(
    "TRIBUTARY_KEEP_CLIENTS",
    integer_parser(0, 36_500),
    "0",
    "Days after which a finished run has numbers of single clients only of its last rounds; 0 keeps all",
)
LOG_STYLE = Variable("TRIBUTARY_LOGS", parse_log_style, "text", "How the platform's processes log: text, or json")
DEVICE = Variable(
    "TRIBUTARY_DEVICE", parse_text, "cpu", "Set by the supervisor for each worker: cpu, or cuda:0, cuda:1, ..."
)
THREADS = Variable(
    "TRIBUTARY_THREADS", integer_parser(1, 4096), "1", "Set by the supervisor for each worker: its CPU threads"
)
AGENT = Variable(
    "TRIBUTARY_AGENT",
    parse_text,
    "",
    "Set by the supervisor where a host has several workers: the socket of the process that has their connections",
    "none",
)

VARIABLES: tuple[Variable[Any], ...] = (
    HOME,
    STORE,
    STORE_CACHE,
    HOST,
    PORT,
    WORKERS,
    RUNS_PER_GPU,
    DATABASE_URL,
    REDIS_URL,
    POSTGRES_LISTEN,
    REDIS_LISTEN,
    POSTGRES_CONNECTIONS,
    SECRET_KEY,
    DEBUG,
    ALLOWED_HOSTS,
    CSRF_TRUSTED_ORIGINS,
    HTTPS,
    TRUSTED_PROXIES,
    WEB_PROCESSES,
    WEB_REQUESTS,
    ADMIN_PASSWORD,
    PASSWORD_LOGIN,
    OIDC_ISSUER,
    OIDC_NAME,
    OIDC_CLIENT_ID,
    OIDC_CLIENT_SECRET,
    OIDC_SCOPES,
    OIDC_GROUPS_CLAIM,
    OIDC_GROUP_ROLES,
    OIDC_DEFAULT_ROLE,
    TOUR,
    MAX_RUNS,
    MAX_WAITING,
    MIRROR,
    PLUGINS,
    APPS,
    APP_UPLOADS,
    APP_INSTALL,
    IMPORT_FOLDERS,
    MAX_UPLOAD,
    RATE_READS,
    RATE_WRITES,
    LEASE,
    LOGGED_SILENCE,
    RUN_SECONDS,
    RUN_SILENCE,
    RUN_MEMORY,
    RUN_FILES,
    CHECKPOINT_SECONDS,
    KEEP_CHECKPOINTS,
    KEEP_LOGS,
    KEEP_CLIENTS,
    LOG_STYLE,
    DEVICE,
    THREADS,
    AGENT,
)


def settings_table() -> str:
    """The settings as README.md shows them; a test keeps the two equal."""
    rows = [f"| `{each.name}` | {each.shown_default or f'`{each.default}`'} | {each.meaning} |" for each in VARIABLES]
    return "\n".join(["| variable | default | meaning |", "| --- | --- | --- |", *rows])


LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]"]
ALL_INTERFACES = {"0.0.0.0", "::"}


def default_allowed_hosts(host: str) -> list[str]:
    """Listening everywhere means being called by any of this machine's names and addresses."""
    return [*LOCAL_HOSTS, *(machine_names() if host in ALL_INTERFACES else [host] if host not in LOCAL_HOSTS else [])]


def local_address(host: str, port: int) -> str:
    """Where a browser of this machine finds the platform."""
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{name}:{port}"


def machine_names() -> list[str]:
    name = socket.gethostname()
    try:
        addresses = sorted({str(entry[4][0]) for entry in socket.getaddrinfo(name, None)})
    except OSError:
        addresses = []
    bracketed = [f"[{address}]" if ":" in address else address for address in addresses]
    return list(dict.fromkeys([name, socket.getfqdn(), *bracketed]))
