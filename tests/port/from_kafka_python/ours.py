"""Writes an invoice for every order, with streamlog."""

import json
import sys
from typing import Any

import streamlog


def invoice(order: dict[str, Any]) -> dict[str, Any]:
    """The amount that the customer has to pay."""
    return {"order": order["id"], "total": order["count"] * order["price"]}


def main(bootstrap: str) -> None:
    """Runs until it is told to stop."""
    with (
        streamlog.connect(bootstrap) as client,
        client.producer(
            acks="all", compression="gzip", key=str.encode, value=json.dumps
        ) as producer,
        client.consumer(
            "orders",
            group="invoices",
            value=json.loads,
            on_error=streamlog.DeadLetters("orders.dead"),
            signals=True,
        ) as consumer,
    ):
        for message in consumer:
            order = message.value
            if order is not None:
                sent = producer.send("invoices", invoice(order), key=order["customer"])
                sent.result(timeout=10)


if __name__ == "__main__":
    main(sys.argv[1])
