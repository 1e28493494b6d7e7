"""A quota of Apache Kafka, as our client tells of it."""

import queue

import streamlog
from differential.support.peers import Peers
from streamlog.events import Throttled

CLIENT_ID = "hurried"
QUOTA = 5_000
"""In bytes per second, which Apache Kafka counts over about ten seconds."""
REQUESTS_MAX = 40


def test_a_producer_beyond_its_quota_is_told_of_the_delay(peers: Peers) -> None:
    entity = {"entity": [{"entityType": "client-id", "entityName": CLIENT_ID}]}

    def alter(**op: object) -> None:
        ops = {"ops": [{"key": "producer_byte_rate", **op}]}
        kafka = peers.both.kafka
        answer = kafka.ask(peers.api("AlterClientQuotas"), 1, {"entries": [{**entity, **ops}]})
        assert [entry["errorCode"] for entry in answer["entries"]] == [0]

    events: queue.Queue[streamlog.events.Event] = queue.Queue()
    alter(value=float(QUOTA))
    try:
        with streamlog.connect(peers.addresses.kafka, client_id=CLIENT_ID) as client:
            client.on_event(events.put)
            client.admin.create_topic("hurried", partitions=1)
            with client.producer(compression="none") as producer:
                sent = 0
                while events.empty() and sent < REQUESTS_MAX:
                    producer.send("hurried", b"x" * QUOTA)
                    producer.flush()
                    sent += 1
            throttled = events.get_nowait()
            assert isinstance(throttled, Throttled)
            assert throttled.address == peers.addresses.kafka
            assert throttled.delay > 0
            assert client.stats().throttled >= 1
            assert len(list(client.topic("hurried").read())) == sent
            client.admin.delete_topic("hurried")
    finally:
        alter(remove=True)
