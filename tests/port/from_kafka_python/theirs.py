"""Writes an invoice for every order, with kafka-python."""

import json
import signal
import sys
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.structs import OffsetAndMetadata

running = True


def stop(number: int, frame: object) -> None:
    """SIGTERM: finish the order in hand, then leave."""
    global running
    running = False


def to_json(value: dict[str, Any]) -> bytes:
    """The published form of an invoice."""
    return json.dumps(value).encode()


def invoice(order: dict[str, Any]) -> dict[str, Any]:
    """The amount that the customer has to pay."""
    return {"order": order["id"], "total": order["count"] * order["price"]}


def main(bootstrap: str) -> None:
    """Runs until it is told to stop."""
    signal.signal(signal.SIGTERM, stop)
    consumer = KafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap,
        group_id="invoices",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=1000,
    )
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        compression_type="gzip",
        key_serializer=str.encode,
        value_serializer=to_json,
    )
    letters = KafkaProducer(bootstrap_servers=bootstrap, acks="all", compression_type="gzip")
    while running:
        for message in consumer:
            try:
                order = message.value and json.loads(message.value)
            except ValueError as reason:
                headers = [("reason", repr(reason).encode())]
                letters.send("orders.dead", message.value, message.key, headers=headers).get(10)
            else:
                if order is not None:
                    producer.send("invoices", invoice(order), order["customer"]).get(timeout=10)
            place = TopicPartition(message.topic, message.partition)
            consumer.commit({place: OffsetAndMetadata(message.offset + 1, "", -1)})
            if not running:
                break
    letters.close()
    producer.close()
    consumer.close()


if __name__ == "__main__":
    main(sys.argv[1])
