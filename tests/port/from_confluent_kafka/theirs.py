"""Adds the customer's name to every order, with confluent-kafka."""

import json
import signal
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

CUSTOMERS = {"c1": "Ada", "c2": "Grace", "c3": "Edsger"}

running = True
failures: list[KafkaError] = []


def stop(number: int, frame: object) -> None:
    """SIGTERM: finish the batch in hand, then leave."""
    global running
    running = False


def delivered(error: KafkaError | None, message: Message) -> None:
    """Called by poll and flush, once for each record."""
    if error is not None:
        failures.append(error)


def enriched(value: bytes | None) -> tuple[str, bytes]:
    """The customer, and the order with the customer's name."""
    order = json.loads(value or b"")
    order["name"] = CUSTOMERS[order["customer"]]
    return order["customer"], json.dumps(order).encode()


def main(bootstrap: str) -> None:
    """Runs until it is told to stop."""
    signal.signal(signal.SIGTERM, stop)
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "enricher",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": "zstd",
            "linger.ms": 5,
            "partitioner": "murmur2_random",
        }
    )
    consumer.subscribe(["orders"])
    try:
        while running:
            batch = consumer.consume(100, timeout=0.2)
            for message in batch:
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                value = message.value()
                try:
                    key, order = enriched(value)
                    producer.produce("orders.enriched", order, key, on_delivery=delivered)
                except (ValueError, KeyError) as reason:
                    producer.produce(
                        "orders.dead",
                        value,
                        message.key(),
                        headers={"reason": repr(reason).encode()},
                        on_delivery=delivered,
                    )
                producer.poll(0)
            if batch:
                producer.flush()
                if failures:
                    raise KafkaException(failures[0])
                consumer.commit(asynchronous=False)
    finally:
        consumer.close()


if __name__ == "__main__":
    main(sys.argv[1])
