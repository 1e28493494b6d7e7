"""The clients of a worker: one for each way of reaching brokers, made when it is first needed.

Spark forks its workers and uses them again for later batches, so that a client serves many tasks. A
client that was made before a fork connects anew in the child.
"""

from threading import Lock

import streamlog
from streamlog.errors import ConfigError, ConnectError
from streamlog.spark.options import Connection, Options
from streamlog.spark.patience import patiently

__all__ = ["check_setting", "client_of"]

_clients: dict[Connection, streamlog.Client] = {}
_lock = Lock()
_MOST = 16
"""Clients that are kept; beyond, the oldest is forgotten, and closed by its last user."""


_NOWHERE = "127.0.0.1:0"
"""No broker can listen there."""


def check_setting(name: str, text: str) -> None:
    """Looks at an option ``kafka.*`` without a broker.

    Raises:
        ConfigError: It is unknown, refused, or does not fit.
    """
    connection = Options({"bootstrap": _NOWHERE, name: text}, ()).connection()
    try:
        # Settings are looked at before anybody is asked.
        streamlog.connect(connection.bootstrap, config=dict(connection.settings)).close()
    except ConnectError:
        return


def client_of(connection: Connection) -> streamlog.Client:
    """The client of this process for this connection; brokers that are away are waited for.

    Raises:
        ConfigError: A setting of the client is unknown or does not fit.
        ConnectError: No broker answered for as long as the connection is patient.
    """
    with _lock:
        if connection not in _clients:
            _clients[connection] = patiently(connection, lambda: _made(connection))
            if len(_clients) > _MOST:
                _clients.pop(next(iter(_clients)))
        return _clients[connection]


def _made(connection: Connection) -> streamlog.Client:
    try:
        return streamlog.connect(
            connection.bootstrap,
            config={"client.id": "streamlog-spark", **dict(connection.settings)},
        )
    except ConfigError as error:
        raise ConfigError(f"settings of the client, kafka.* in options: {error}") from error
