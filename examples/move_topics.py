"""Copies topics from one cluster to another, from Apache Kafka for example.

    python examples/move_topics.py FROM TO TOPIC...

Partitions, keys, headers and timestamps are preserved; settings of topics are not copied. It copies
the existing records, and in the next run new ones. After a kill, records can be duplicated.
"""

import sys

import streamlog


def main(source: str, target: str, topics: list[str]) -> None:
    """Copies the new records of topics from one cluster to the other."""
    with streamlog.connect(source) as old, streamlog.connect(target) as new:
        for topic in topics:
            count = old.topic(topic).partitions()
            new.admin.create_topic(topic, partitions=count, exist_ok=True)
        with (
            old.consumer(topics, group="moving", commit="manual") as consumer,
            new.producer() as producer,
        ):
            for message in consumer.until_end():
                producer.send(
                    message.topic,
                    message.value,
                    key=message.key,
                    headers=message.headers,
                    partition=message.partition,
                    timestamp=message.timestamp_ms,
                )
            producer.flush()
            consumer.commit()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
