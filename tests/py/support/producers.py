"""The options of producers that keep order, each kind with its name."""

from typing import Any

__all__ = ["PRODUCERS"]

PRODUCERS: dict[str, dict[str, Any]] = {
    "idempotent": {},
    "gzip": {"compression": "gzip"},
    "zstd": {"compression": "zstd"},
    # Without idempotence, retries keep the order only with a single request in flight.
    "leader": {"acks": 1, "config": {"max.in.flight.requests.per.connection": 1}},
}
