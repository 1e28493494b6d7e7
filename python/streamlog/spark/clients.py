"""The clients of a worker process: one or more for each connection, created on first use.

Spark forks its workers and reuses them for later batches, so a client serves many tasks. A client
that was created before a fork reconnects in the child.
"""

from threading import Lock

import streamlog
from streamlog.errors import ConfigError, ConnectError
from streamlog.spark.options import Connection, Options
from streamlog.spark.patience import patiently

__all__ = ["check_setting", "client_of"]

_clients: dict[tuple[Connection, int], streamlog.Client] = {}
_lock = Lock()
_MOST = 16
"""The limit of cached clients; beyond it, the oldest is dropped, and closed after its last use."""


_NOWHERE = "127.0.0.1:0"
"""An address on which no broker can listen."""


def check_setting(name: str, text: str) -> None:
    """Validates an option ``kafka.*`` without a broker.

    Raises:
        ConfigError: It is unknown, refused, or invalid.
    """
    connection = Options({"bootstrap": _NOWHERE, name: text}, ()).connection()
    try:
        # The client validates its settings before it tries to connect.
        streamlog.connect(connection.bootstrap, config=dict(connection.settings)).close()
    except ConnectError:
        return


def client_of(connection: Connection, number: int = 0) -> streamlog.Client:
    """Returns a client of this process for a connection; waits for unreachable brokers.

    Args:
        connection: The connection.
        number: Another number is another client. Each has a thread of its own, so several clients
            can use several cores.

    Raises:
        ConfigError: A setting of the client is unknown or invalid.
        ConnectError: No broker answered within the connection's patience.
    """
    with _lock:
        key = (connection, number)
        if key not in _clients:
            _clients[key] = patiently(connection, lambda: _made(connection))
            if len(_clients) > _MOST:
                _clients.pop(next(iter(_clients)))
        return _clients[key]


def _made(connection: Connection) -> streamlog.Client:
    try:
        return streamlog.connect(
            connection.bootstrap,
            config={"client.id": "streamlog-spark", **dict(connection.settings)},
        )
    except ConfigError as error:
        raise ConfigError(f"settings of the client, kafka.* in options: {error}") from error
