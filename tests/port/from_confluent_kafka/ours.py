"""Adds the customer's name to every order, with streamlog."""

import json
import sys

import streamlog

CUSTOMERS = {"c1": "Ada", "c2": "Grace", "c3": "Edsger"}


def enriched(value: bytes | None) -> tuple[bytes, bytes]:
    """The customer, and the order with the customer's name."""
    order = json.loads(value or b"")
    order["name"] = CUSTOMERS[order["customer"]]
    return order["customer"].encode(), json.dumps(order).encode()


def main(bootstrap: str) -> None:
    """Runs until it is told to stop."""
    with (
        streamlog.connect(bootstrap) as client,
        client.producer(compression="zstd", linger=0.005) as producer,
        client.consumer("orders", group="enricher", commit="manual", signals=True) as consumer,
    ):
        for batch in consumer.batches(max_messages=100, max_wait=0.2):
            for message in batch:
                value = message.value
                try:
                    key, order = enriched(value)
                    producer.send("orders.enriched", order, key=key)
                except (ValueError, KeyError) as reason:
                    headers = {"reason": repr(reason).encode()}
                    producer.send("orders.dead", value, key=message.key, headers=headers)
            producer.flush()
            batch.commit()


if __name__ == "__main__":
    main(sys.argv[1])
